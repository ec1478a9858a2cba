import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { adviceFor } from './advice.js';
import { ask, byId, followJob, has } from './api.js';
import { html, useLoaded, useStopping } from './base.js';
import { Chunks } from './chunks.js';
import { announce, confirmation } from './dialogs.js';
import { clockText, dateTimeText, doingText, isActive } from './format.js';
import { changeText, momentsOf, stateOf, tookText, waitsForWebhook } from './job-state.js';
import {
  action,
  ago,
  card,
  copyButton,
  facts,
  faultState,
  metadataFacts,
  preformatted,
  progressBar,
  statusBadge,
} from './parts.js';
import { imagesCard, playerCard, tracksCard, warningsCard } from './results.js';
import { canRerun, makeAgain } from './rerun.js';
import { Times } from './times.js';
import { Webhook } from './webhook.js';

// The page of a job: what it is doing, what became of it, its webhook, and what one can do.

/** @import { AnyJob, Moment, Visit } from './types.ts' */

/** No event says why a job waits, which depends on other jobs, or that a webhook was tried. */
const quietMs = 3000;

/** The job as it changes, and what was seen of it while the page is open. @param {string} id */
function useJob(id) {
  const signal = useStopping();
  const latest = useRef(/** @type {AnyJob | null} */ (null));
  const [job, setJob] = useState(latest.current);
  const [seen, setSeen] = useState(/** @type {readonly Moment[]} */ ([]));
  const [problem, setProblem] = useState(/** @type {unknown} */ (null));
  const show = (/** @type {AnyJob} */ fresh) => {
    const before = latest.current;
    latest.current = fresh;
    setJob(fresh);
    if (before === null || stateOf(before) === stateOf(fresh)) return;
    setSeen((moments) => [...moments, { at: new Date().toISOString(), text: changeText(before, fresh) }]);
    if (isActive(before) && !isActive(fresh))
      announce(`The job is ${fresh.status}.`, fresh.status === 'failed' ? 'fault' : 'info');
  };
  const reload = async () => show(await ask((http) => http.GET('/api/jobs/{id}', { ...byId(id), signal })));
  const open = async () => {
    setProblem(null);
    try {
      await reload();
      if (latest.current !== null && isActive(latest.current)) await followJob(id, show, signal);
    } catch (fault) {
      if (!signal.aborted) setProblem(fault);
    }
  };
  useEffect(() => {
    void open();
    const timer = setInterval(() => {
      const shown = latest.current;
      const isQuiet = shown !== null && (shown.status === 'queued' || waitsForWebhook(shown));
      if (isQuiet && !document.hidden) void reload().catch(() => undefined);
    }, quietMs);
    return () => clearInterval(timer);
  }, []);
  return { job, seen, problem, open, reload };
}

/** @param {Visit & { id: string }} visit */
export function JobView({ id, navigate }) {
  const { job, seen, problem, open, reload } = useJob(id);
  if (problem !== null) return html`<div class="view page">${faultState(problem, open)}</div>`;
  if (job === null) return html`<div class="view page" aria-busy="true"></div>`;
  const actions = { navigate, reload };
  return html`<div class="view page">
    <header class="page-head">${headOf(job, actions)}</header>
    <div class="columns">
      <div class="stack">
        ${job.error && errorCard(job.error)}
        ${progressCard(job, seen)}
        ${h(Chunks, { job })}
        ${has('GET /api/jobs/{id}/timeline') && h(Times, { job })}
        <div class="stack" role="status">
          ${job.status === 'completed' && !job.results_expired && h(Checks, { job, onRerun: () => makeAgain(job, navigate) })}
        </div>
        ${resultsOf(job)}
      </div>
      <div class="stack side">${factsCard(job)}${h(Webhook, { job, reload })}</div>
    </div>
  </div>`;
}

/** @param {AnyJob} job @param {Pick<Visit, 'navigate'> & { reload: () => Promise<void> }} actions */
function headOf(job, { navigate, reload }) {
  const cancel = async () => {
    const isSure = await confirmation({
      title: 'Cancel this job?',
      text: 'Its work stops within seconds and makes no results. A cancelled job cannot go on.',
      action: 'Cancel the job',
    });
    if (!isSure) return;
    await ask((http) => http.POST('/api/jobs/{id}/cancel', byId(job.job_id)));
    await reload();
  };
  const retry = async () => {
    const { jobs } = await ask((http) => http.POST('/api/jobs/{id}/retry', byId(job.job_id)));
    const [first] = jobs;
    announce(jobs.length === 1 ? 'A new job was made.' : `${jobs.length} new jobs were made.`);
    const isOne = jobs.length === 1 && first !== undefined;
    navigate(isOne ? `/jobs/${first.job_id}` : `/jobs?hash=${encodeURIComponent(job.hash)}`);
  };
  // A stage that cannot be retried makes a retry of the whole impossible; of others it helps once the source is mended.
  const plan = job.results && 'retry_plan' in job.results ? job.results.retry_plan : null;
  const canRetry = job.status === 'failed' && plan?.allowed !== false;
  return html`
    <p class="crumbs"><a href="#/jobs">Jobs</a>${' / '}${job.type}</p>
    <div class="title-line">
      <h1 class="mono"><a href=${`#/media/${encodeURIComponent(job.hash)}`}>${job.hash}</a></h1>
      ${statusBadge(job.status)}
      <div class="actions">
        ${canRetry && action('Retry', retry, job.error?.retryable ? 'primary' : '')}
        ${canRerun(job) && action('Make again', () => makeAgain(job, navigate))}
        ${isActive(job) && action('Cancel', cancel, 'danger')}
      </div>
    </div>`;
}

/** @param {AnyJob} job @param {readonly Moment[]} seen */
function progressCard(job, seen) {
  return card(
    isActive(job) ? 'Progress' : 'Timeline',
    {},
    isActive(job) ? progressBar(job) : html`<p class="soft">${tookText(job)}</p>`,
    job.reason && html`<p class="reason">It waits: ${doingText(job)}. ${job.reason.message}</p>`,
    html`<ol class="timeline">
      ${momentsOf(job, seen).map(
        ({ at, text }) =>
          html`<li><time datetime=${at} title=${dateTimeText(at)}>${clockText(at)}</time><span>${text}</span></li>`,
      )}
    </ol>`,
    stagesOf(job),
  );
}

/** The stages of a `video:full`, each with its end. @param {AnyJob} job */
function stagesOf(job) {
  if (job.type !== 'video:full' || !job.results?.stages) return null;
  const stages = Object.entries(job.results.stages).map(
    ([name, { status, error }]) =>
      html`<li data-status=${status}><span>${name}</span><span class="soft">${error ?? status}</span></li>`,
  );
  return html`<ul class="stages" aria-label="Stages">${stages}</ul>`;
}

/** @param {NonNullable<AnyJob['error']>} error */
function errorCard(error) {
  const advice = adviceFor(error.code);
  const tail = error.details?.log_tail;
  return card(
    error.message,
    { class: 'error-card' },
    facts([
      ['Code', html`<code>${error.code}</code>`],
      ['Stage', error.stage],
      ['Attempt', String(error.attempt)],
      ['Retryable', error.retryable ? 'yes' : 'no'],
    ]),
    advice !== '' && html`<p class="advice"><strong>What to do: </strong>${advice}</p>`,
    tail && html`<details><summary>End of the log</summary>${preformatted('End of the log', tail)}</details>`,
  );
}

/** @param {AnyJob} job */
function resultsOf(job) {
  const text = job.results ? JSON.stringify(job.results, null, 2) : null;
  return [
    job.results_expired &&
      html`<p class="notice">
        Retention removed objects of these results; submit the job again to make new ones.
      </p>`,
    playerCard(job),
    imagesCard(job),
    tracksCard(job),
    warningsCard(job),
    text &&
      card(
        'Results as JSON',
        { actions: copyButton('Copy the results', () => text) },
        html`<details><summary>Show</summary>${preformatted('Results', text)}</details>`,
      ),
  ];
}

/** @param {AnyJob} job */
function factsCard(job) {
  const origin = job.retry_of_job_id ?? job.rerun_of_job_id;
  const copy = copyButton('Copy the id', () => job.job_id);
  return card(
    'Job',
    {},
    facts([
      ['Id', html`<span class="with-copy"><code>${job.job_id}</code>${copy}</span>`],
      ['Type', job.type],
      ['Title', job.title],
      ...metadataFacts(job.metadata),
      ['Attempt', String(job.attempt)],
      ['Profile', job.profile],
      ['Pool', has('GET /api/pools') ? html`<a href="#/pools">${job.pool}</a>` : job.pool],
      ['Submitted', html`<span>${dateTimeText(job.created_at)} (${ago(job.created_at)})</span>`],
      ['Changed', dateTimeText(job.updated_at)],
      [
        job.retry_of_job_id ? 'Retry of' : 'Run again from',
        origin && html`<a href=${`#/jobs/${origin}`}>${origin.slice(0, 8)}</a>`,
      ],
    ]),
  );
}

/**
 * Asks the buckets whether the results of a completed job are there, and its source is the same.
 *
 * @param {{ job: AnyJob, onRerun: () => Promise<void> }} props
 */
function Checks({ job, onRerun }) {
  const path = { id: job.job_id };
  const { data: found } = useLoaded(
    () => ask((http) => http.GET('/api/jobs/{id}', { params: { path, query: { check: 'source,results' } } })),
    [stateOf(job)],
  );
  return html`
    ${
      found?.results_missing &&
      html`<div class="notice">
      <p>Objects of these results are missing in the media bucket.</p>
      ${canRerun(job) && action('Make them again', onRerun)}
    </div>`
    }
    ${found?.source_changed && html`<div class="notice"><p>The source was replaced since this job read it.</p></div>`}`;
}
