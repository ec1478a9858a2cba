import { ask, findJob, getJobs } from './api.js';
import { html, useLoaded } from './base.js';
import { reasonTextOf } from './format.js';
import { ago, card, isBusy, numbers, progressBar, waited, whenLoaded } from './parts.js';

// The runner pools: what runs, what waits and why.

/** @import { AnyJob, Schemas } from './types.ts' */

const pollMs = 3000;

/** Jobs that run are named, of each pool the newest; and of those that wait the oldest of each reason. */
const runningRead = 100;
const runningShown = 10;

/** The pools, and the jobs that are named. @param {AbortSignal} signal */
async function read(signal) {
  const [pools, running] = await Promise.all([
    ask((http) => http.GET('/api/pools', { signal })),
    getJobs({ status: 'processing', limit: runningRead }, signal),
  ]);
  const ids = pools.pools.flatMap(({ reasons }) => reasons.map(({ job_id: id }) => id));
  const waiting = await Promise.all(ids.map((id) => findJob(id, signal)));
  return { ...pools, named: [...running.jobs, ...waiting.filter((job) => job !== null)] };
}

export function PoolsView() {
  const loaded = useLoaded(read, [], pollMs);
  return html`<div class="view page">
    <header class="page-head title-line"><h1>Pools</h1></header>
    <div class="stack" aria-busy=${isBusy(loaded)}>
      ${whenLoaded(loaded, ({ pools, counted_max: max, named }) => pools.map((pool) => poolCard(pool, max, named)))}
    </div>
    <p class="soft foot">
      Counted from jobs. For slots and nodes, run <code>reelwright pools</code>.
    </p>
  </div>`;
}

/** @param {number} value */
const number = (value) => value.toLocaleString('en');

/** @param {Schemas['PoolListPool']} pool @param {number} countedMax @param {readonly AnyJob[]} named */
function poolCard({ name, queue, running, waiting, oldest_waiting_at: oldest, reasons }, countedMax, named) {
  const runs = named.filter((job) => job.pool === name && job.status === 'processing' && job.reason === null);
  const waitingText = waiting < countedMax ? number(waiting) : `${number(countedMax)} or more`;
  return card(
    name,
    { class: 'pool', 'data-pool': name },
    html`<p class="soft">${queue === null ? 'Jobs that ask for it.' : `Serves the queue ${queue}.`}</p>`,
    numbers([
      ['Running', number(running)],
      ['Waiting', waitingText],
      ...(oldest === null ? [] : [longest(oldest, named)]),
    ]),
    runs.length > 0 && runningList(name, runs.slice(0, runningShown)),
    reasons.length === 0
      ? html`<p class="soft">Nothing waits.</p>`
      : html`<ul class="plain reasons" aria-label=${`Why jobs of ${name} wait`}>
          ${reasons.map((reason) => reasonLine(reason, waiting, named))}
        </ul>`,
  );
}

/** @param {string} pool @param {readonly AnyJob[]} jobs */
const runningList = (pool, jobs) =>
  html`<ul class="job-list running-jobs" aria-label=${`Jobs that run in ${pool}`}>
    ${jobs.map(
      (job) => html`<li key=${job.job_id}>
        <a class="break" href=${`#/jobs/${job.job_id}`}>${job.hash}</a>
        <span class="soft">${job.type}, ${ago(job.created_at)}</span>
        ${progressBar(job)}
      </li>`,
    )}
  </ul>`;

/** @param {string} time @param {readonly AnyJob[]} named @returns {[string, ReturnType<typeof html>]} */
function longest(time, named) {
  const job = named.find(({ created_at: at }) => at === time);
  const link = job && html` <a class="break" href=${`#/jobs/${job.job_id}`}>${job.hash}</a>`;
  return ['Longest wait', html`<span>${waited(time)}${link}</span>`];
}

/** @param {Schemas['PoolListPoolReason']} reason @param {number} waiting @param {readonly AnyJob[]} named */
function reasonLine({ code, message, jobs, job_id: id }, waiting, named) {
  const job = named.find((each) => each.job_id === id);
  const text = reasonTextOf(code) ?? code;
  return html`<li key=${code} data-code=${code}>
    <span class="share" aria-hidden="true" style=${{ '--share': `${(100 * jobs) / waiting}%` }}></span>
    <strong>${number(jobs)}</strong>
    <span>${text}<span class="soft reason-text">${message}</span></span>
    <a href=${`#/jobs/${id}`} aria-label=${`${job?.hash ?? 'A job'}: ${text}`}>${job?.hash ?? 'A job'}</a>
  </li>`;
}
