import { api, retryAfterOf } from './api.js';
import { isActive } from './format.js';

// The list of jobs as it is known: newest first, pages by cursor as one scrolls, and what is in view stays current.

/**
 * @import { JobFilter, ListedJob } from '#clients/typescript/src/index.ts'
 * @typedef {{ jobs: readonly ListedJob[], isWhole: boolean, isRead: boolean, problem: unknown }} Listed
 */

const pageSize = 100;
/** The next page is loaded this many rows before the end. */
const loadAhead = 150;
const pollMs = 2000;
/** Active jobs in view that are asked for one by one, for the reason why each waits: so many in each turn. */
const askedMax = 12;
/** Jobs that came since the last look; more are found by the next reload. */
const newestMax = 2000;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {readonly ListedJob[]} jobs */
const newestFirst = (jobs) =>
  jobs.toSorted((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));

/**
 * The same object while nothing changed.
 *
 * @param {ListedJob} job @param {ListedJob | undefined} fresh @param {boolean} isAsked
 */
function newer(job, fresh, isAsked) {
  if (fresh === undefined) return job;
  const { results: _, ...shown } = fresh;
  // A list does not say why a job waits for its turn: what was known of it holds until it is asked for again.
  if (!isAsked && shown.status === 'queued' && job.status === 'queued') shown.reason ??= job.reason;
  return JSON.stringify(shown) === JSON.stringify(job) ? job : /** @type {ListedJob} */ (shown);
}

/** @type {Listed} */
export const nothingListed = { jobs: [], isWhole: false, isRead: false, problem: null };

/** Follows the jobs that match until `signal` aborts. */
export class JobList {
  /** @type {readonly ListedJob[]} */
  #jobs = [];
  /** @type {string | null | undefined} */
  #cursor;
  #isLoading = false;
  #range = [0, 0];
  #turn = 0;
  /** @type {JobFilter} */
  #filter;
  /** @type {AbortSignal} */
  #signal;
  /** @type {(listed: Listed) => void} */
  #onChange;

  /** @param {JobFilter} filter @param {AbortSignal} signal @param {(listed: Listed) => void} onChange */
  constructor(filter, signal, onChange) {
    this.#filter = filter;
    this.#signal = signal;
    this.#onChange = onChange;
    void this.loadMore();
    void this.#poll();
  }

  /** @param {number} first @param {number} last */
  setRange(first, last) {
    this.#range = [first, last];
    if (last >= this.#jobs.length - loadAhead) void this.loadMore();
  }

  async loadMore() {
    if (this.#isLoading || this.#cursor === null) return;
    this.#isLoading = true;
    try {
      const page = await this.#read(pageSize, this.#cursor);
      const known = new Set(this.#jobs.map(({ job_id: id }) => id));
      this.#jobs = [...this.#jobs, ...page.jobs.filter(({ job_id: id }) => !known.has(id))];
      this.#cursor = page.next_cursor;
      this.#changed();
    } catch (problem) {
      if (this.#signal.aborted) return;
      if (this.#jobs.length === 0) this.#onChange({ ...nothingListed, problem });
      else await pause((retryAfterOf(problem) || 2) * 1000);
    } finally {
      this.#isLoading = false;
    }
  }

  /** @param {number} limit @param {string | undefined} cursor */
  async #read(limit, cursor) {
    return await api.jobs({ ...this.#filter, limit, ...(cursor === undefined ? {} : { cursor }) }, this.#signal);
  }

  #changed() {
    if (this.#signal.aborted) return;
    this.#onChange({ jobs: this.#jobs, isWhole: this.#cursor === null, isRead: true, problem: null });
  }

  /** The newest jobs, down to the newest one of the list. */
  async #readNewest() {
    const [newest] = this.#jobs;
    const first = await this.#read(50, undefined);
    const found = [...first.jobs];
    let next = newest === undefined ? null : first.next_cursor;
    const isAfter = () => newest !== undefined && (found.at(-1)?.created_at ?? '') > newest.created_at;
    while (next !== null && isAfter() && found.length < newestMax) {
      const page = await this.#read(pageSize, next);
      found.push(...page.jobs);
      next = page.next_cursor;
    }
    return found;
  }

  /** The active jobs in view, in turn. @param {Map<string, ListedJob>} fresh */
  async #ask(fresh) {
    const [first = 0, last = 0] = this.#range;
    const inView = this.#jobs.slice(first, last + 1).filter((job) => isActive(fresh.get(job.job_id) ?? job));
    const from = inView.length > askedMax ? this.#turn % inView.length : 0;
    this.#turn = from + askedMax;
    const chosen = [...inView.slice(from), ...inView.slice(0, from)].slice(0, askedMax);
    const asked = await Promise.all(chosen.map(({ job_id: id }) => api.job(id, this.#signal).catch(() => null)));
    return asked.filter((job) => job !== null);
  }

  /** The newest jobs, and the active ones in view. */
  async #refresh() {
    const newest = await this.#readNewest();
    const fresh = new Map(newest.map((job) => [job.job_id, job]));
    const asked = await this.#ask(fresh);
    for (const job of asked) fresh.set(job.job_id, job);
    const isAsked = new Set(asked.map(({ job_id: id }) => id));
    const known = new Set(this.#jobs.map(({ job_id: id }) => id));
    const added = newest.filter(({ job_id: id }) => !known.has(id));
    // A job may come to match a filter, or to be committed, after younger ones.
    const [top] = this.#jobs;
    const isAmong = added.some((job) => top !== undefined && job.created_at < top.created_at);
    const all = isAmong ? newestFirst([...added, ...this.#jobs]) : [...added, ...this.#jobs];
    this.#jobs = all.map((job) => newer(job, fresh.get(job.job_id), isAsked.has(job.job_id)));
    this.#changed();
  }

  async #poll() {
    while (!this.#signal.aborted) {
      await pause(pollMs);
      if (this.#signal.aborted || document.hidden || this.#cursor === undefined) continue;
      await this.#refresh().catch(() => undefined);
    }
  }
}
