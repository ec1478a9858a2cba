import { useState } from 'preact/hooks';
import { ask, byId } from './api.js';
import { html, useLoaded } from './base.js';
import { confirmation } from './dialogs.js';
import { dateTimeText } from './format.js';
import { action, ago, card, facts, isBusy, whenLoaded } from './parts.js';
import { countsBar, isActiveRollout, outcomeFacts, rolloutBadge, whichText } from './rollout-parts.js';

// The page of a rollout: what became of its media, its gate, its failures, and what one can do.

/** @import { Question, RolloutAction, RolloutDetails } from './types.ts' */

const pollMs = 2000;

/** @param {{ id: string }} props */
export function RolloutView({ id }) {
  const [isActive, setActive] = useState(true);
  const read = async (/** @type {AbortSignal} */ signal) => {
    const rollout = await ask((http) => http.GET('/api/rollouts/{id}', { ...byId(id), signal }));
    setActive(isActiveRollout(rollout));
    return rollout;
  };
  const loaded = useLoaded(read, [], isActive ? pollMs : 0);
  return html`<div class="view page" aria-busy=${isBusy(loaded)}>
    ${whenLoaded(
      loaded,
      (rollout) => html`
        <header class="page-head">${headOf(rollout, loaded.reload)}</header>
        <div class="columns">${bodyOf(rollout)}</div>`,
    )}
  </div>`;
}

/** @type {RolloutDetails['status'][]} */
const beginning = ['canary', 'running'];
/** The statuses in which each action is offered; the server decides. @type {Record<RolloutAction, RolloutDetails['status'][]>} */
const offeredIn = {
  pause: beginning,
  resume: beginning,
  cancel: beginning,
  rollback: [...beginning, 'cancelling', 'completed', 'cancelled'],
};

/** @type {Partial<Record<RolloutAction, Question>>} */
const questions = {
  cancel: {
    title: 'Cancel this rollout?',
    text: 'Its active reruns are cancelled and no other begins. Streams that it made stay as they are. It cannot go on.',
    action: 'Cancel the rollout',
  },
  rollback: {
    title: 'Roll this rollout back?',
    text: 'Its active reruns are cancelled, and each media whose stream is still the one of the rollout plays its earlier one again. It cannot go on.',
    action: 'Roll back',
  },
};

/** @param {RolloutDetails} rollout @param {() => Promise<void>} reload */
function headOf(rollout, reload) {
  const { status, paused, spec, rollout_id: id } = rollout;
  const button = (/** @type {RolloutAction} */ name, /** @type {string} */ label, kind = '') =>
    offeredIn[name].includes(status) &&
    action(
      label,
      async () => {
        const question = questions[name];
        if (question && !(await confirmation(question))) return;
        await ask((http) => http.POST(`/api/rollouts/{id}/${name}`, byId(id)));
        await reload();
      },
      kind,
    );
  return html`
    <p class="crumbs"><a href="#/rollouts">Rollouts</a> /</p>
    <div class="title-line">
      <h1>To ${spec.to_profile}</h1>
      ${rolloutBadge(rollout)}
      <div class="actions">
        ${paused ? button('resume', 'Resume', 'primary') : button('pause', 'Pause')}
        ${button('rollback', 'Roll back', 'danger')}
        ${button('cancel', 'Cancel', 'danger')}
      </div>
    </div>`;
}

/** @param {RolloutDetails} rollout */
function bodyOf(rollout) {
  const { media, reason } = rollout;
  return html`
    <div class="stack">
      ${card(
        'Media',
        {},
        reason && html`<p class="notice">${reason}</p>`,
        !rollout.is_planned && html`<p class="soft">Media are still being chosen: the counts grow.</p>`,
        countsBar(media, 'Media of this rollout'),
        outcomeFacts(media),
      )}
      ${canaryCard(rollout)}${failuresCard(rollout)}
    </div>
    <div class="stack side">${specCard(rollout)}</div>`;
}

/** Limits of the gate that are set, as the request named them. */
const limitTexts = /** @type {const} */ ([
  ['max_failure_share', 'Share of failures, at most'],
  ['max_bytes_ratio', 'New size, at most this part of the old'],
  ['min_score', 'Mean score, at least'],
]);

/** @param {RolloutDetails} rollout */
function canaryCard({ canary, gate, spec }) {
  if (canary === null) return null;
  const verdict = gate === null ? 'is not judged yet' : gate.passed ? 'has passed' : 'has failed';
  const hasFailed = gate?.passed === false;
  return card(
    `The gate ${verdict}`,
    { class: `gate ${hasFailed ? 'error-card' : ''}`, 'data-passed': String(gate?.passed ?? '') },
    hasFailed && html`<ul class="plain">${gate.failures.map((text) => html`<li>${text}</li>`)}</ul>`,
    countsBar(canary, 'Media of the canary'),
    outcomeFacts(canary),
    html`<h3>Limits</h3>`,
    facts([
      ['Share of the media', spec.canary?.share.toString()],
      ...limitTexts.map(([name, text]) => limit(text, spec.canary?.[name])),
    ]),
  );
}

/** @param {string} text @param {number | undefined} value @returns {[string, string | undefined]} */
const limit = (text, value) => [text, value?.toString()];

/** @param {RolloutDetails} rollout */
function failuresCard({ failures }) {
  if (failures.length === 0) return null;
  const rows = failures.map(
    ({ hash, job_id: jobId, reason }) => html`<li>
      <a class="mono" href=${jobId ? `#/jobs/${jobId}` : `#/media/${encodeURIComponent(hash)}`}>${hash}</a>
      <span class="soft">${reason}</span>
    </li>`,
  );
  return card('Last failures', {}, html`<ul class="job-list">${rows}</ul>`);
}

/** @param {RolloutDetails} rollout */
function specCard(rollout) {
  const { spec, not_chosen: skipped } = rollout;
  const { jobs, hours_per_day: hours } = spec.budget;
  const left = Object.entries(skipped).filter(([, number]) => number > 0);
  return card(
    'Rollout',
    {},
    facts([
      ['Which', whichText(spec.which)],
      ['To profile', html`<a href=${`#/profiles/${encodeURIComponent(spec.to_profile)}`}>${spec.to_profile}</a>`],
      ['Jobs at once', String(jobs)],
      ['Hours today', hours ? `${rollout.hours_today} of ${hours}` : String(rollout.hours_today)],
      ['Not chosen', left.map(([why, number]) => `${String(number)} ${why.replaceAll('_', ' ')}`).join(', ')],
      ['Started', html`<span>${dateTimeText(rollout.created_at)} (${ago(rollout.created_at)})</span>`],
      ['Ended', rollout.finished_at ? dateTimeText(rollout.finished_at) : null],
      ['Id', html`<code class="break">${rollout.rollout_id}</code>`],
    ]),
  );
}
