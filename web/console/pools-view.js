import { ask } from './api.js';
import { html, useLoaded } from './base.js';
import { reasonTextOf } from './format.js';
import { card, isBusy, numbers, waited, whenLoaded } from './parts.js';

// The runner pools: what runs, what waits and why.

/** @import { Schemas } from './types.ts' */

const pollMs = 3000;

export function PoolsView() {
  const loaded = useLoaded((signal) => ask((http) => http.GET('/api/pools', { signal })), [], pollMs);
  return html`<div class="view page">
    <header class="page-head title-line"><h1>Pools</h1></header>
    <div class="stack" aria-busy=${isBusy(loaded)}>
      ${whenLoaded(loaded, ({ pools, counted_max: max }) => pools.map((pool) => poolCard(pool, max)))}
    </div>
    <p class="soft foot">
      Counted from jobs. For slots and nodes, run <code>reelwright pools</code>.
    </p>
  </div>`;
}

/** @param {number} value */
const number = (value) => value.toLocaleString('en');

/** @param {Schemas['PoolListPool']} pool @param {number} countedMax */
function poolCard({ name, queue, running, waiting, oldest_waiting_at: oldest, reasons }, countedMax) {
  const waitingText = waiting < countedMax ? number(waiting) : `${number(countedMax)} or more`;
  return card(
    name,
    { class: 'pool', 'data-pool': name },
    html`<p class="soft">${queue === null ? 'Jobs that ask for it.' : `Serves the queue ${queue}.`}</p>`,
    numbers([['Running', number(running)], ['Waiting', waitingText], ...(oldest === null ? [] : [longest(oldest)])]),
    reasons.length === 0
      ? html`<p class="soft">Nothing waits.</p>`
      : html`<ul class="plain reasons" aria-label=${`Why jobs of ${name} wait`}>
          ${reasons.map((reason) => reasonLine(reason, waiting))}
        </ul>`,
  );
}

/** @param {string} time @returns {[string, ReturnType<typeof waited>]} */
const longest = (time) => ['Longest wait', waited(time)];

/** @param {Schemas['PoolListPoolReason']} reason @param {number} waiting */
function reasonLine({ code, message, jobs, job_id: id }, waiting) {
  const text = reasonTextOf(code) ?? code;
  return html`<li key=${code} data-code=${code}>
    <span class="share" aria-hidden="true" style=${{ '--share': `${(100 * jobs) / waiting}%` }}></span>
    <strong>${number(jobs)}</strong>
    <span>${text}<span class="soft reason-text">${message}</span></span>
    <a href=${`#/jobs/${id}`} aria-label=${`A job: ${text}`}>A job</a>
  </li>`;
}
