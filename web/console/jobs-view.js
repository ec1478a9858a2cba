import { h } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ask, byId, findJob, getJobs } from './api.js';
import { html } from './base.js';
import { Bulk, choiceBox, useSelection } from './bulk.js';
import { useFeed } from './feed.js';
import { isActive } from './format.js';
import { filterForm, filterOf } from './job-filter.js';
import { ago, emptyState, faultState, outcome, statusBadge } from './parts.js';
import { VirtualList } from './virtual-list.js';

// The list of jobs, and what can be done with many of them.

/** @import { AnyJob, BulkAction, FeedOptions, JobFilter, JobStatus, Visit } from './types.ts' */

/** Active jobs in view that are asked for one by one, for the reason why each waits: so many in each turn. */
const askedMax = 12;
/** The next page is loaded this many rows before the end. */
const loadAhead = 150;

/**
 * The same object while nothing changed. A list does not say why a job waits for its turn: what was known of it holds
 * until it is asked for again.
 *
 * @param {AnyJob} job @param {AnyJob} fresh @param {boolean} isAsked
 */
function newer(job, fresh, isAsked) {
  const shown = { ...fresh };
  delete shown.results;
  if (!isAsked && shown.status === 'queued' && job.status === 'queued') shown.reason ??= job.reason;
  return JSON.stringify(shown) === JSON.stringify(job) ? job : shown;
}

/** The jobs that match; `range` has the first and the last index in view. @param {JobFilter} filter */
function useJobs(filter) {
  const range = useRef([0, 0]);
  const turn = useRef(0);
  /** @type {FeedOptions<AnyJob>} */
  const list = {
    async read(page, signal) {
      const { jobs: items, next_cursor: cursor } = await getJobs({ ...filter, ...page }, signal);
      return { items, cursor };
    },
    async ask(newest, known, signal) {
      const [first = 0, last = 0] = range.current;
      const fresh = new Map(newest.map((job) => [job.job_id, job]));
      const inView = known.slice(first, last + 1).filter((job) => isActive(fresh.get(job.job_id) ?? job));
      const from = inView.length > askedMax ? turn.current % inView.length : 0;
      turn.current = from + askedMax;
      const chosen = [...inView.slice(from), ...inView.slice(0, from)].slice(0, askedMax);
      const asked = await Promise.all(chosen.map(({ job_id: id }) => findJob(id, signal)));
      return asked.filter((job) => job !== null);
    },
    idOf: keyOf,
    merge: newer,
    pageSize: 100,
    polledItems: 50,
    pollMs: 2000,
  };
  return { ...useFeed(list), range };
}

/** @param {Visit} visit */
export function JobsView({ query, navigate }) {
  const [filter] = useState(() => filterOf(query));
  const { items: jobs, isWhole, isRead, problem, loadMore, range } = useJobs(filter);
  const { chosen, toggle, clear } = useSelection();
  const isEmpty = isRead && isWhole && jobs.length === 0;
  const onRange = (/** @type {number} */ first, /** @type {number} */ last) => {
    range.current = [first, last];
    if (last >= jobs.length - loadAhead) void loadMore();
  };
  const actions = actionsOn(
    jobs.filter((job) => chosen.has(job.job_id)),
    filter,
  );
  const all = choiceBox('Choose every job that is loaded', jobs.length > 0 && chosen.size >= jobs.length, (isOn) =>
    toggle(jobs.map(keyOf), isOn),
  );
  const names = [all, 'Status', 'Media', 'Type', 'Progress', 'Submitted'];
  return html`<div class="view jobs">
    <div class="view-head">
      <h1>Jobs</h1>
      <p class="count" role="status">
        ${isRead && countText(jobs.length, isWhole)}${chosen.size > 0 && `, ${chosen.size} chosen`}
      </p>
      ${h(Bulk, { actions, onDone: clear })}
      ${filterForm(filter, { query, navigate })}
    </div>
    <div class="list" role="table" aria-label="Jobs" aria-rowcount="-1" hidden=${isEmpty}>
      <div class="row-head" role="rowgroup">
        <div class="row" role="row" aria-rowindex="1">
          ${names.map((name) => html`<span role="columnheader">${name}</span>`)}
        </div>
      </div>
      ${h(VirtualList, { label: 'Jobs, newest first', items: jobs, keyOf, cells: cellsOf(chosen, toggle), onRange })}
    </div>
    <div class="list-message">
      ${isEmpty && noJobs(Object.keys(filter).length > 0)}
      ${problem !== null && jobs.length === 0 && faultState(problem, loadMore)}
    </div>
  </div>`;
}

/** @param {number} count @param {boolean} isWhole */
const countText = (count, isWhole) =>
  count === 1 ? '1 job' : `${count.toLocaleString('en')}${isWhole ? '' : '+'} jobs`;

/** @param {AnyJob} job */
const keyOf = ({ job_id: id }) => id;

/** @param {ReadonlySet<string>} chosen @param {(ids: string[], isOn: boolean) => void} toggle */
const cellsOf = (chosen, toggle) => (/** @type {AnyJob} */ job) => {
  const { job_id: id, hash, status } = job;
  const box = choiceBox(`Choose ${hash}, ${status}`, chosen.has(id), (isOn) => toggle([id], isOn));
  return html`
    <span class="cell-choice" role="cell">${box}</span>
    <span class="cell-status" role="cell">${statusBadge(status)}</span>
    <span class="cell-hash" role="cell"><a href=${`#/jobs/${id}`}>${hash}</a></span>
    <span class="cell-type" role="cell">${job.type}${job.attempt > 1 && ` · attempt ${job.attempt}`}</span>
    <span class="cell-progress" role="cell">${outcome(job)}</span>
    <span class="cell-time" role="cell">${ago(job.created_at)}</span>`;
};

/**
 * The actions that can help the chosen jobs, or, while none is chosen, those of the filter.
 *
 * @param {readonly AnyJob[]} chosen @param {JobFilter} filter @returns {BulkAction[]}
 */
function actionsOn(chosen, filter) {
  const isOfFilter = chosen.length === 0;
  const failed = chosen.filter(({ status }) => status === 'failed');
  const active = chosen.filter(isActive);
  const { status, code } = filter;
  const ofFilter =
    (/** @type {JobStatus[]} */ wanted) => (/** @type {number} */ max, /** @type {AbortSignal} */ signal) =>
      jobsOf(filter, { wanted, max, signal });
  const suffix = isOfFilter ? ' all' : '';
  const canRetry = isOfFilter ? status === 'failed' || (status === undefined && code !== undefined) : failed.length > 0;
  const canCancel = isOfFilter ? status === 'queued' || status === 'processing' : active.length > 0;
  /** @type {BulkAction} */
  const retry = {
    label: `Retry${suffix}`,
    title: (count) => `Retry ${count} failed jobs?`,
    text: 'Each makes a new job. Stay on this page until all are sent.',
    button: 'Retry them',
    items: isOfFilter ? ofFilter(['failed']) : async () => failed,
    act: ({ job_id: id }) => ask((http) => http.POST('/api/jobs/{id}/retry', byId(id))),
  };
  /** @type {BulkAction} */
  const cancel = {
    label: `Cancel${suffix}`,
    kind: 'danger',
    title: (count) => `Cancel ${count} jobs?`,
    text: 'Their work stops within seconds and makes no results. A cancelled job cannot go on.',
    button: 'Cancel them',
    items: isOfFilter ? ofFilter(status === undefined ? [] : [status]) : async () => active,
    act: ({ job_id: id }) => ask((http) => http.POST('/api/jobs/{id}/cancel', byId(id))),
  };
  return [...(canRetry ? [retry] : []), ...(canCancel ? [cancel] : [])];
}

/** The jobs of a filter in these statuses. @param {JobFilter} filter @param {{ wanted: JobStatus[], max: number, signal: AbortSignal }} options */
async function jobsOf(filter, { wanted, max, signal }) {
  /** @type {AnyJob[]} */
  const found = [];
  for (const status of wanted) {
    /** @type {string | null | undefined} */
    let cursor;
    while (cursor !== null && found.length < max) {
      const page = await getJobs({ ...filter, status, limit: 100, ...(cursor && { cursor }) }, signal);
      found.push(...page.jobs);
      cursor = page.next_cursor;
    }
  }
  return found;
}

/** @param {boolean} isFiltered */
const noJobs = (isFiltered) =>
  isFiltered
    ? emptyState(
        'No job matches',
        'Change the filter, or show every job.',
        html`<a class="button" href="#/jobs">Every job</a>`,
      )
    : emptyState(
        'No jobs yet',
        'A submitted job is shown here, with its progress.',
        html`<a class="button primary" href="#/new">Submit a job</a>`,
      );
