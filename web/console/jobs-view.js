import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './base.js';
import { jobTypes, statuses } from './format.js';
import { JobList, nothingListed } from './job-list.js';
import { ago, emptyState, faultState, outcome, statusBadge } from './parts.js';
import { VirtualList } from './virtual-list.js';

// The list of jobs and its filter.

/**
 * @import { JobFilter, ListedJob } from '#clients/typescript/src/index.ts'
 */

/** @param {URLSearchParams} query @returns {JobFilter} */
function filterOf(query) {
  const type = jobTypes.find((each) => each === query.get('type'));
  const status = statuses.find((each) => each === query.get('status'));
  const hash = query.get('hash') ?? '';
  return { ...(type && { type }), ...(status && { status }), ...(hash !== '' && { hash }) };
}

/** @param {{ query: URLSearchParams, navigate: (path: string) => void }} props */
export function JobsView({ query, navigate }) {
  const [filter] = useState(() => filterOf(query));
  const [listed, setListed] = useState(nothingListed);
  const list = useRef(/** @type {JobList | null} */ (null));
  useEffect(() => {
    const stopping = new AbortController();
    list.current = new JobList(filter, stopping.signal, setListed);
    return () => stopping.abort();
  }, []);
  const { jobs, isWhole, isRead, problem } = listed;
  const isEmpty = isRead && isWhole && jobs.length === 0;
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
      ${h(VirtualList, {
        label: 'Jobs, newest first',
        items: jobs,
        keyOf,
        cells,
        onRange: (first, last) => list.current?.setRange(first, last),
      })}
    </div>
    <div class="list-message">
      ${isEmpty && noJobs(Object.keys(filter).length > 0)}
      ${problem !== null && faultState(problem, () => list.current?.loadMore())}
    </div>
  </div>`;
}

/** @param {number} count @param {boolean} isWhole */
const countText = (count, isWhole) =>
  count === 1 ? '1 job' : `${count.toLocaleString('en')}${isWhole ? '' : '+'} jobs`;

/** @param {ListedJob} job */
const keyOf = ({ job_id: id }) => id;

/** @param {ListedJob} job */
const cells = (job) => html`
  <span class="cell-status" role="cell">${statusBadge(job.status)}</span>
  <span class="cell-hash" role="cell"><a href=${`#/jobs/${job.job_id}`}>${job.hash}</a></span>
  <span class="cell-type" role="cell">${job.type}${job.attempt > 1 && ` · attempt ${job.attempt}`}</span>
  <span class="cell-progress" role="cell">${outcome(job)}</span>
  <span class="cell-time" role="cell">${ago(job.created_at)}</span>`;

/** @param {JobFilter} filter @param {(path: string) => void} navigate */
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
