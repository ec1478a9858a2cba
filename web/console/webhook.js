import { ask, byId } from './api.js';
import { html, useLoaded } from './base.js';
import { announce } from './dialogs.js';
import { dateTimeText } from './format.js';
import { stateOf, waitsForWebhook, webhookTexts } from './job-state.js';
import { action, card, copyButton, facts, preformatted } from './parts.js';

// The webhook of a job: its state, what is sent, each attempt, and its delivery once more.

/** @import { AnyJob, Schemas } from './types.ts' */

const pollMs = 3000;

/** @param {{ job: AnyJob, reload: () => Promise<void> }} props */
export function Webhook({ job, reload }) {
  const { data: found } = useLoaded(
    () => ask((http) => http.GET('/api/jobs/{id}/callbacks', byId(job.job_id))),
    [stateOf(job)],
    waitsForWebhook(job) ? pollMs : 0,
  );
  if (found === null || found.callback_url === null) return null;
  const deliverAgain = async () => {
    await ask((http) => http.POST('/api/jobs/{id}/callbacks/redeliver', byId(job.job_id)));
    announce('The webhook is delivered again.');
    await reload();
  };
  const canDeliver = found.event_id !== null && found.callback_status !== 'pending';
  const attempts = found.attempts.toReversed();
  return card(
    'Webhook',
    { actions: canDeliver ? action('Deliver again', deliverAgain, 'small') : null },
    facts([
      ['Status', webhookTexts[found.callback_status ?? ''] ?? 'is sent when the job has ended'],
      ['Address', html`<code class="break">${found.callback_url}</code>`],
      ['Next attempt', found.next_attempt_at && dateTimeText(found.next_attempt_at)],
    ]),
    found.body !== null && bodyOf(found.body),
    attempts.length > 0 &&
      html`<ol class="attempts" aria-label="Attempts, newest first">${attempts.map(attemptOf)}</ol>`,
  );
}

/** @param {Schemas['CallbacksAttempt']} attempt */
function attemptOf({ attempt, status_code: status, error, started_at: at, duration_ms: ms }) {
  return html`<li key=${attempt} data-ok=${String(status !== null && status >= 200 && status < 300)}>
    <span>${status === null ? (error ?? 'no answer') : `HTTP ${status}`}</span>
    <span class="soft">${dateTimeText(at)}, ${ms} ms</span>
  </li>`;
}

/** The bytes that are sent, indented to be read; the button copies them as they are. @param {string} body */
const bodyOf = (body) =>
  html`<details class="webhook-body">
    <summary>Body</summary>
    ${preformatted('Body of the webhook', indented(body))}${copyButton('Copy the body', () => body)}
  </details>`;

/** @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
