import { h } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { findJob, getJobs } from './api.js';
import { html } from './base.js';
import { useFeed } from './feed.js';
import { isActive, jobTypes, statuses } from './format.js';
import { ago, emptyState, faultState, outcome, statusBadge } from './parts.js';
import { VirtualList } from './virtual-list.js';

// The list of jobs and its filter.

/** @import { AnyJob, FeedOptions, JobFilter, Navigate, Visit } from './types.ts' */

/** @param {URLSearchParams} query @returns {JobFilter} */
function filterOf(query) {
  const type = jobTypes.find((each) => each === query.get('type'));
  const status = statuses.find((each) => each === query.get('status'));
  const hash = query.get('hash') ?? '';
  return { ...(type && { type }), ...(status && { status }), ...(hash !== '' && { hash }) };
}

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
  const isEmpty = isRead && isWhole && jobs.length === 0;
  const onRange = (/** @type {number} */ first, /** @type {number} */ last) => {
    range.current = [first, last];
    if (last >= jobs.length - loadAhead) void loadMore();
  };
  return html`<div class="view jobs">
    <div class="view-head">
      <h1>Jobs</h1>
      <p class="count" role="status">${isRead && countText(jobs.length, isWhole)}</p>
      ${filterForm(filter, navigate)}
    </div>
    <div class="list" role="table" aria-label="Jobs" aria-rowcount="-1" hidden=${isEmpty}>
      <div class="row-head" role="rowgroup">
        <div class="row" role="row" aria-rowindex="1">
          ${['Status', 'Media', 'Type', 'Progress', 'Submitted'].map(
            (name) => html`<span role="columnheader">${name}</span>`,
          )}
        </div>
      </div>
      ${h(VirtualList, { label: 'Jobs, newest first', items: jobs, keyOf, cells, onRange })}
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

/** @param {AnyJob} job */
const cells = (job) => html`
  <span class="cell-status" role="cell">${statusBadge(job.status)}</span>
  <span class="cell-hash" role="cell"><a href=${`#/jobs/${job.job_id}`}>${job.hash}</a></span>
  <span class="cell-type" role="cell">${job.type}${job.attempt > 1 && ` · attempt ${job.attempt}`}</span>
  <span class="cell-progress" role="cell">${outcome(job)}</span>
  <span class="cell-time" role="cell">${ago(job.created_at)}</span>`;

/** @param {JobFilter} filter @param {Navigate} navigate */
function filterForm(filter, navigate) {
  const change = (/** @type {Event} */ event) => {
    event.preventDefault();
    const { currentTarget: target } = event;
    const form = target instanceof HTMLSelectElement ? target.form : target;
    if (!(form instanceof HTMLFormElement)) return;
    const given = [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value.trim() : '']);
    const search = new URLSearchParams(given.filter(([, value]) => value !== ''));
    navigate(search.size === 0 ? '/jobs' : `/jobs?${search}`);
  };
  const choice = (
    /** @type {'status' | 'type'} */ name,
    /** @type {string} */ label,
    /** @type {string[]} */ choices,
  ) =>
    html`<label class="field inline">
      <span>${label}</span>
      <select name=${name} onChange=${change}>
        <option value="">All</option>
        ${choices.map((value) => html`<option value=${value} selected=${filter[name] === value}>${value}</option>`)}
      </select>
    </label>`;
  return html`<form class="filters" aria-label="Filter" onSubmit=${change}>
    ${choice('status', 'Status', statuses)} ${choice('type', 'Type', jobTypes)}
    <label class="field inline">
      <span>Media</span>
      <input name="hash" defaultValue=${filter.hash ?? ''} placeholder="Any" autocomplete="off" spellcheck="false"
        maxlength="128" />
    </label>
  </form>`;
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
