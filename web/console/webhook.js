import { api } from './api.js';
import { announce, copyButton, h, redraw } from './dom.js';
import { dateTimeText } from './format.js';
import { card, facts, whileDisabled } from './parts.js';

// The webhook of a job: its state, what is sent, each attempt, and its delivery once more.

export const webhookTexts = { pending: 'waits for its delivery', sent: 'delivered', callback_failed: 'not delivered' };

/** What each place shows, as text: while a delivery is waited for, it is asked for every few seconds. */
const drawnIn = new WeakMap();

/** The bytes that are sent, indented to be read; the button copies them as they are. */
function bodyOf(body, isOpen) {
  if (body === null) return null;
  let text = body;
  try {
    text = JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // It is shown as it is.
  }
  return h(
    'details',
    { class: 'webhook-body', open: isOpen },
    h('summary', {}, 'Body'),
    h('pre', { tabindex: 0, role: 'region', 'aria-label': 'Body of the webhook' }, text),
    copyButton('Copy the body', () => body),
  );
}

export async function showWebhook(place, job, reload) {
  const found = await api.callbacks(job.job_id).catch(() => null);
  if (found === null || found.callback_url === null) return;
  const drawn = JSON.stringify(found);
  if (drawnIn.get(place) === drawn) return;
  drawnIn.set(place, drawn);
  const isOpen = place.querySelector('details')?.open ?? false;
  const again = h('button', { type: 'button', class: 'button small' }, 'Deliver again');
  again.addEventListener('click', () =>
    whileDisabled(again, async () => {
      try {
        await api.redeliver(job.job_id);
        announce('The webhook is delivered again.');
        await reload();
      } catch (problem) {
        announce(problem.message, 'fault');
      }
    }),
  );
  const attempts = found.attempts
    .toReversed()
    .map((attempt) =>
      h(
        'li',
        { dataset: { ok: String(attempt.status_code >= 200 && attempt.status_code < 300) } },
        h('span', {}, attempt.status_code === null ? (attempt.error ?? 'no answer') : `HTTP ${attempt.status_code}`),
        h('span', { class: 'soft' }, `${dateTimeText(attempt.started_at)}, ${attempt.duration_ms} ms`),
      ),
    );
  redraw(
    place,
    card(
      'Webhook',
      { actions: found.event_id === null || found.callback_status === 'pending' ? null : again },
      facts([
        ['Status', webhookTexts[found.callback_status] ?? 'is sent when the job has ended'],
        ['Address', h('code', { class: 'break' }, found.callback_url)],
        ['Next attempt', found.next_attempt_at ? dateTimeText(found.next_attempt_at) : null],
      ]),
      bodyOf(found.body, isOpen),
      attempts.length === 0 ? null : h('ol', { class: 'attempts', 'aria-label': 'Attempts, newest first' }, attempts),
    ),
  );
}
