import { api } from './api.js';
import { h, redraw } from './dom.js';
import { isActive, jobTypes, statuses } from './format.js';
import { ago, emptyState, faultState, outcome, statusBadge } from './parts.js';
import { createVirtualList } from './virtual-list.js';

// The list of jobs: newest first, pages by cursor as one scrolls, and what is in view stays current.

const pageSize = 100;
/** The next page is loaded this many rows before the end. */
const loadAhead = 150;
const pollMs = 2000;
/** Active jobs in view that are asked for one by one, for the reason why each waits: so many in each turn. */
const askedMax = 12;
/** Jobs that came since the last look; more are found by the next reload. */
const newestMax = 2000;

/** @returns `{node, destroy()}` */
export function jobsView({ query, navigate }) {
  const filter = { type: query.get('type') ?? '', status: query.get('status') ?? '', hash: query.get('hash') ?? '' };
  const stopping = new AbortController();
  const { signal } = stopping;
  let jobs = [];
  let cursor;
  let isLoading = false;
  let range = [0, 0];
  let turn = 0;
  /** What `message` shows: '', `empty` or `fault`. */
  let shown = '';

  const scroller = h('div', { class: 'rows', role: 'rowgroup', tabindex: 0, 'aria-label': 'Jobs, newest first' });
  const body = h('div', { class: 'list', role: 'table', 'aria-label': 'Jobs', 'aria-rowcount': -1 }, head(), scroller);
  const message = h('div', { class: 'list-message' });
  const count = h('p', { class: 'count', role: 'status' });
  const list = createVirtualList({
    scroller,
    keyOf: ({ job_id: id }) => id,
    create: rowOf,
    update: (node, job) => redraw(node, ...cellsOf(job)),
    onRange: (first, last) => {
      range = [first, last];
      if (last >= jobs.length - loadAhead) void loadMore();
    },
  });

  const showCount = () => {
    const more = cursor === null ? '' : '+';
    count.textContent = jobs.length === 1 ? '1 job' : `${jobs.length.toLocaleString('en')}${more} jobs`;
  };
  const changed = () => {
    list.show(jobs);
    showCount();
    const isEmpty = jobs.length === 0 && cursor === null;
    const wanted = isEmpty ? 'empty' : '';
    if (shown !== wanted) message.replaceChildren(...(isEmpty ? [noJobs(filter)] : []));
    shown = wanted;
    body.hidden = isEmpty;
  };

  async function loadMore() {
    if (isLoading || cursor === null) return;
    isLoading = true;
    try {
      const page = await api.jobs({ ...filter, limit: pageSize, cursor }, signal);
      const known = new Set(jobs.map(({ job_id: id }) => id));
      jobs = [...jobs, ...page.jobs.filter(({ job_id: id }) => !known.has(id))];
      cursor = page.next_cursor;
      changed();
    } catch (problem) {
      if (signal.aborted) return;
      if (jobs.length === 0) {
        message.replaceChildren(faultState(problem, () => void loadMore()));
        shown = 'fault';
      } else await pause((problem.retryAfterSec || 2) * 1000);
    } finally {
      isLoading = false;
    }
  }

  /** The newest jobs, down to the newest one of the list. */
  async function readNewest() {
    const [newest] = jobs;
    const first = await api.jobs({ ...filter, limit: 50 }, signal);
    const found = [...first.jobs];
    let next = newest === undefined ? null : first.next_cursor;
    while (next !== null && found.at(-1).created_at > newest.created_at && found.length < newestMax) {
      const page = await api.jobs({ ...filter, limit: pageSize, cursor: next }, signal);
      found.push(...page.jobs);
      next = page.next_cursor;
    }
    return found;
  }

  /** The newest jobs, and the active ones in view. */
  async function refresh() {
    const newest = await readNewest();
    const fresh = new Map(newest.map((job) => [job.job_id, job]));
    const inView = jobs.slice(range[0], range[1] + 1).filter((job) => isActive(fresh.get(job.job_id) ?? job));
    const from = inView.length > askedMax ? turn % inView.length : 0;
    turn = from + askedMax;
    const chosen = [...inView.slice(from), ...inView.slice(0, from)].slice(0, askedMax);
    const asked = await Promise.all(chosen.map(({ job_id: id }) => api.job(id, signal).catch(() => null)));
    for (const job of asked) if (job !== null) fresh.set(job.job_id, { ...job, isAsked: true });
    const known = new Set(jobs.map(({ job_id: id }) => id));
    const added = newest.filter(({ job_id: id }) => !known.has(id));
    // A job may come to match a filter, or to be committed, after younger ones.
    const isAmong = added.some((job) => job.created_at < jobs[0]?.created_at);
    const all = isAmong ? newestFirst([...added, ...jobs]) : [...added, ...jobs];
    jobs = all.map((job) => newer(job, fresh.get(job.job_id)));
    changed();
  }

  async function poll() {
    while (!signal.aborted) {
      await pause(pollMs);
      if (signal.aborted || document.hidden || cursor === undefined) continue;
      await refresh().catch(() => undefined);
    }
  }

  void loadMore();
  void poll();
  const node = h(
    'div',
    { class: 'view jobs' },
    h('div', { class: 'view-head' }, h('h1', {}, 'Jobs'), count, filters(filter, navigate)),
    body,
    message,
  );
  return {
    node,
    destroy() {
      stopping.abort();
      list.destroy();
    },
  };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const newestFirst = (jobs) =>
  jobs.toSorted((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));

/** The same object while nothing changed, so that its row is left alone. */
function newer(job, fresh) {
  if (fresh === undefined) return job;
  const { results: _, isAsked = false, ...shown } = fresh;
  // A list does not say why a job waits for its turn: what was known of it holds until it is asked for again.
  if (!isAsked && shown.status === 'queued' && job.status === 'queued') shown.reason ??= job.reason;
  return JSON.stringify(shown) === JSON.stringify(job) ? job : shown;
}

function head() {
  const names = ['Status', 'Media', 'Type', 'Progress', 'Submitted'];
  return h(
    'div',
    { class: 'row-head', role: 'rowgroup' },
    h(
      'div',
      { class: 'row', role: 'row', 'aria-rowindex': 1 },
      names.map((name) => h('span', { role: 'columnheader' }, name)),
    ),
  );
}

function rowOf(job) {
  return h('div', { class: 'row', role: 'row' }, ...cellsOf(job));
}

function cellsOf(job) {
  return [
    h('span', { class: 'cell-status', role: 'cell' }, statusBadge(job.status)),
    h('span', { class: 'cell-hash', role: 'cell' }, h('a', { href: `#/jobs/${job.job_id}` }, job.hash)),
    h('span', { class: 'cell-type', role: 'cell' }, job.type, job.attempt > 1 ? ` · attempt ${job.attempt}` : ''),
    h('span', { class: 'cell-progress', role: 'cell' }, outcome(job)),
    h('span', { class: 'cell-time', role: 'cell' }, ago(job.created_at)),
  ];
}

function filters(filter, navigate) {
  const choice = (name, label, choices) =>
    h(
      'label',
      { class: 'field inline' },
      h('span', {}, label),
      h(
        'select',
        { name, onchange: (event) => change({ [name]: event.target.value }) },
        h('option', { value: '' }, 'All'),
        choices.map((value) => h('option', { value, selected: filter[name] === value }, value)),
      ),
    );
  const change = (changes) => {
    const given = Object.entries({ ...filter, hash: hash.value.trim(), ...changes }).filter(
      ([, value]) => value !== '',
    );
    navigate(given.length === 0 ? '/jobs' : `/jobs?${new URLSearchParams(given)}`);
  };
  const hash = h('input', {
    name: 'hash',
    value: filter.hash,
    placeholder: 'Any',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: 128,
  });
  return h(
    'form',
    {
      class: 'filters',
      'aria-label': 'Filter',
      onsubmit: (event) => {
        event.preventDefault();
        change({});
      },
    },
    choice('status', 'Status', statuses),
    choice('type', 'Type', jobTypes),
    h('label', { class: 'field inline' }, h('span', {}, 'Media'), hash),
  );
}

function noJobs(filter) {
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return isFiltered
    ? emptyState(
        'No job matches',
        'Change the filter, or show every job.',
        h('a', { class: 'button', href: '#/jobs' }, 'Every job'),
      )
    : emptyState(
        'No jobs yet',
        'A submitted job is shown here, with its progress.',
        h('a', { class: 'button primary', href: '#/new' }, 'Submit a job'),
      );
}
