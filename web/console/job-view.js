import { adviceFor } from './advice.js';
import { api, followJob, has } from './api.js';
import { announce, confirmation, copyButton, h, redraw } from './dom.js';
import { clockText, dateTimeText, doingText, durationText, isActive } from './format.js';
import { showChunks } from './chunks.js';
import { ago, card, facts, faultState, progressBar, statusBadge, whileDisabled } from './parts.js';
import { imagesCard, playerCard, tracksCard, warningsCard } from './results.js';
import { showTimes } from './times.js';
import { showWebhook, webhookTexts } from './webhook.js';

// The page of a job: what it is doing, what became of it, its webhook, and what one can do.

/** @returns `{node, destroy()}` */
export function jobView({ id, navigate }) {
  const stopping = new AbortController();
  const node = h('div', { class: 'view page', 'aria-busy': 'true' });
  /** What was seen of the job while this page is open. */
  const seen = [];
  let job = null;
  let parts = null;

  const show = (fresh) => {
    const isNewState = job === null || stateOf(job) !== stateOf(fresh);
    // Progress must not take the focus of a button away, nor a delivered webhook the player or an open log.
    const hasNewStatus = job === null || job.status !== fresh.status;
    const hasNewResults = hasNewStatus || job.results_expired !== fresh.results_expired;
    if (job !== null && isNewState) seen.push({ at: new Date().toISOString(), text: changeText(job, fresh) });
    const hasEnded = job !== null && isActive(job) && !isActive(fresh);
    job = fresh;
    if (parts === null) {
      parts = layout(job);
      node.replaceChildren(...parts.all);
    }
    if (hasNewStatus) {
      redraw(parts.head, ...headOf(job, { navigate, show }));
      parts.error.replaceChildren(...(job.error ? [errorCard(job)] : []));
    }
    parts.progress.replaceChildren(...progressOf(job, seen));
    if (hasNewResults) parts.results.replaceChildren(...resultsOf(job));
    if (isNewState) {
      parts.facts.replaceChildren(...factsOf(job));
      if (hasEnded) announce(`The job is ${job.status}.`, job.status === 'failed' ? 'fault' : 'info');
      void showChecks(parts.checks, job, () => rerun(job, navigate));
    }
    if (isNewState) {
      void showChunks(parts.chunks, job, stopping.signal);
      void showTimes(parts.times, job, stopping.signal);
    }
    if (isNewState || waitsForWebhook(job)) void showWebhook(parts.webhook, job, reload);
  };

  async function reload() {
    show(await api.job(id, stopping.signal));
  }

  async function open() {
    try {
      await reload();
      node.removeAttribute('aria-busy');
      if (isActive(job)) await followJob(id, show, stopping.signal);
    } catch (problem) {
      if (!stopping.signal.aborted) node.replaceChildren(faultState(problem, () => void open()));
    }
  }

  void open();
  // No event says why a job waits, which depends on other jobs, or that a webhook was tried.
  const timer = setInterval(() => {
    const isQuiet = job?.status === 'queued' || (job !== null && waitsForWebhook(job));
    if (isQuiet && !document.hidden) void reload().catch(() => undefined);
    if (job?.status === 'processing' && !document.hidden) void showChunks(parts.chunks, job, stopping.signal);
  }, 3000);
  return {
    node,
    destroy() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}

const stateOf = ({ status, phase, attempt, callback_status: callback }) => [status, phase, attempt, callback].join(' ');
const waitsForWebhook = (job) => !isActive(job) && job.callback_status === 'pending';
const stateText = ({ status, phase, attempt }) =>
  [status, phase, attempt > 1 ? `attempt ${attempt}` : null].filter(Boolean).join(', ');

/** What a change was: of the job, or else of its webhook. */
const changeText = (before, after) =>
  stateText(before) === stateText(after)
    ? `webhook ${webhookTexts[after.callback_status] ?? 'changed'}`
    : stateText(after);

function layout() {
  const parts = {
    head: h('header', { class: 'page-head' }),
    error: h('div', { class: 'stack' }),
    progress: h('div', { class: 'stack' }),
    chunks: h('div', { class: 'stack' }),
    times: h('div', { class: 'stack' }),
    checks: h('div', { class: 'stack', role: 'status' }),
    results: h('div', { class: 'stack' }),
    facts: h('div', { class: 'stack' }),
    webhook: h('div', { class: 'stack' }),
  };
  const all = [
    parts.head,
    h(
      'div',
      { class: 'columns' },
      h('div', { class: 'stack' }, [
        parts.error,
        parts.progress,
        parts.chunks,
        parts.times,
        parts.checks,
        parts.results,
      ]),
      h('div', { class: 'stack side' }, parts.facts, parts.webhook),
    ),
  ];
  return { ...parts, all };
}

async function rerun({ job_id: id }, navigate) {
  const { job_id: made } = await api.rerun(id);
  navigate(`/jobs/${made}`);
}

const act = (label, run, kind = '') => {
  const button = h('button', { type: 'button', class: `button ${kind}` }, label);
  button.addEventListener('click', () =>
    whileDisabled(button, () => run().catch((problem) => announce(problem.message, 'fault'))),
  );
  return button;
};

function headOf(job, { navigate, show }) {
  const cancel = async () => {
    const isSure = await confirmation({
      title: 'Cancel this job?',
      text: 'Its work stops within seconds and makes no results. A cancelled job cannot go on.',
      action: 'Cancel the job',
      isDangerous: true,
    });
    if (isSure) show(await api.cancel(job.job_id));
  };
  const retry = async () => {
    const { jobs } = await api.retry(job.job_id);
    announce(jobs.length === 1 ? 'A new job was made.' : `${jobs.length} new jobs were made.`);
    navigate(jobs.length === 1 ? `/jobs/${jobs[0].job_id}` : `/jobs?hash=${encodeURIComponent(job.hash)}`);
  };
  const canRerun = ['completed', 'failed'].includes(job.status) && has('POST /api/jobs/{id}/rerun');
  return [
    h('p', { class: 'crumbs' }, h('a', { href: '#/jobs' }, 'Jobs'), ' / ', job.type),
    h(
      'div',
      { class: 'title-line' },
      h('h1', { class: 'mono' }, h('a', { href: `#/media/${encodeURIComponent(job.hash)}` }, job.hash)),
      statusBadge(job.status),
      h(
        'div',
        { class: 'actions' },
        job.status === 'failed' ? act('Retry', retry, 'primary') : null,
        canRerun ? act('Run again', () => rerun(job, navigate)) : null,
        isActive(job) ? act('Cancel', cancel, 'danger') : null,
      ),
    ),
  ];
}

function progressOf(job, seen) {
  const hasSeenEnd = seen.some(({ text }) => text === stateText(job));
  const items = [
    { at: job.created_at, text: 'submitted' },
    ...(job.started_at ? [{ at: job.started_at, text: `started in the pool ${job.pool}` }] : []),
    ...seen,
    ...(isActive(job) || hasSeenEnd ? [] : [{ at: job.finished_at ?? job.updated_at, text: stateText(job) }]),
  ].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return [
    card(
      isActive(job) ? 'Progress' : 'Timeline',
      {},
      isActive(job) ? progressBar(job) : h('p', { class: 'soft' }, tookText(job)),
      job.reason ? h('p', { class: 'reason' }, `It waits: ${doingText(job)}. ${job.reason.message}`) : null,
      h(
        'ol',
        { class: 'timeline' },
        items.map(({ at, text }) =>
          h('li', {}, h('time', { datetime: at, title: dateTimeText(at) }, clockText(at)), h('span', {}, text)),
        ),
      ),
      stagesOf(job),
    ),
  ];
}

const between = (from, to) => durationText(Date.parse(to) - Date.parse(from));

/** How long it waited and ran; a job that was never started ended after it was submitted. */
function tookText({ created_at: created, started_at: started, finished_at: finished, updated_at: updated }) {
  const end = finished ?? updated;
  if (!started) return `Ended ${between(created, end)} after it was submitted.`;
  return `Waited ${between(created, started)}, then ran for ${between(started, end)}.`;
}

/** The stages of a `video:full`, each with its end. */
function stagesOf({ results }) {
  if (!results?.stages) return null;
  return h(
    'ul',
    { class: 'stages', 'aria-label': 'Stages' },
    Object.entries(results.stages).map(([name, { status, error }]) =>
      h('li', { dataset: { status } }, h('span', {}, name), h('span', { class: 'soft' }, error ?? status)),
    ),
  );
}

function errorCard({ error }) {
  const advice = adviceFor(error.code);
  const tail = error.details?.log_tail;
  return card(
    error.message,
    { class: 'error-card' },
    facts([
      ['Code', h('code', {}, error.code)],
      ['Stage', error.stage],
      ['Attempt', String(error.attempt)],
      ['Retryable', error.retryable ? 'yes' : 'no'],
    ]),
    advice === '' ? null : h('p', { class: 'advice' }, h('strong', {}, 'What to do: '), advice),
    tail
      ? h(
          'details',
          {},
          h('summary', {}, 'End of the log'),
          h('pre', { tabindex: 0, role: 'region', 'aria-label': 'End of the log' }, tail),
        )
      : null,
  );
}

function resultsOf(job) {
  const raw = job.results
    ? card(
        'Results as JSON',
        { actions: copyButton('Copy the results', () => JSON.stringify(job.results, null, 2)) },
        h(
          'details',
          {},
          h('summary', {}, 'Show'),
          h('pre', { tabindex: 0, role: 'region', 'aria-label': 'Results' }, JSON.stringify(job.results, null, 2)),
        ),
      )
    : null;
  const expired = job.results_expired
    ? h('p', { class: 'notice' }, 'Retention removed objects of these results; submit the job again to make new ones.')
    : null;
  return [expired, playerCard(job), imagesCard(job), tracksCard(job), warningsCard(job), raw].filter(Boolean);
}

function factsOf(job) {
  const origin = job.retry_of_job_id ?? job.rerun_of_job_id;
  return [
    card(
      'Job',
      {},
      facts([
        [
          'Id',
          h(
            'span',
            { class: 'with-copy' },
            h('code', {}, job.job_id),
            copyButton('Copy the id', () => job.job_id),
          ),
        ],
        ['Type', job.type],
        ['Attempt', String(job.attempt)],
        ['Profile', job.profile],
        ['Pool', has('GET /api/pools') ? h('a', { href: '#/pools' }, job.pool) : job.pool],
        ['Submitted', h('span', {}, `${dateTimeText(job.created_at)} (`, ago(job.created_at), ')')],
        ['Changed', dateTimeText(job.updated_at)],
        [
          job.retry_of_job_id ? 'Retry of' : 'Run again from',
          origin ? h('a', { href: `#/jobs/${origin}` }, origin.slice(0, 8)) : null,
        ],
      ]),
    ),
  ];
}

const lostText = 'Objects of these results are missing in the media bucket.';
const replacedText = 'The source was replaced since this job read it.';

/** Asks the buckets whether the results of a completed job are there, and its source is the same. */
async function showChecks(place, job, onRerun) {
  if (job.status !== 'completed' || job.results_expired) {
    place.replaceChildren();
    return;
  }
  const found = await api.checkedJob(job.job_id).catch(() => null);
  const texts = [found?.results_missing && lostText, found?.source_changed && replacedText].filter(Boolean);
  const again = () => (has('POST /api/jobs/{id}/rerun') ? act('Make them again', onRerun) : null);
  place.replaceChildren(
    ...texts.map((text) => h('div', { class: 'notice' }, h('p', {}, text), text === lostText ? again() : null)),
  );
}
