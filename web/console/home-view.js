import { ask, byHash, getJobs, has, statusOf } from './api.js';
import { html, useLoaded } from './base.js';
import { announceProblem } from './dialogs.js';
import { plainText, withTexts } from './form.js';
import { bytesText, localMinute, statuses } from './format.js';
import { idPattern } from './job-filter.js';
import { ago, card, emptyState, isBusy, numbers, progressBar, shareBar, waited, whenLoaded } from './parts.js';

// The first page: what happened in the last day, what failed, what waits and what runs.

/** @import { AnyJob, ComponentChildren, Navigate, Schemas, Visit } from './types.ts' */

const overviewMs = 5000;
const runningMs = 3000;
const shownMax = 10;

/** @param {Visit} visit */
export function HomeView({ navigate }) {
  const overview = useLoaded((signal) => ask((http) => http.GET('/api/overview', { signal })), [], overviewMs);
  const running = useLoaded((signal) => getJobs({ status: 'processing', limit: shownMax }, signal), [], runningMs);
  // A key with a prefix may not see the counts of all media.
  const isOwner = statusOf(overview.problem) === 403;
  return html`<div class="view page" aria-busy=${isBusy(overview)}>
    <header class="page-head title-line"><h1>Overview</h1>${findForm(navigate)}</header>
    <div class="columns">
      <div class="stack">
        ${!isOwner && whenLoaded(overview, dayOf)}
        ${whenLoaded(running, ({ jobs }) => runningCard(jobs))}
      </div>
      <div class="stack side">${!isOwner && overview.data && sideOf(overview.data)}</div>
    </div>
  </div>`;
}

/** Where the name of a media or the id of a job leads: to its page, else to the media that a search finds. @param {string} text */
async function pathOf(text) {
  if (idPattern.test(text)) return `/jobs/${text.toLowerCase()}`;
  const name = encodeURIComponent(text);
  const isKnown = await ask((http) => http.GET('/api/media/{hash}', byHash(text))).catch((problem) => {
    if (statusOf(problem) !== 404) throw problem;
    return null;
  });
  return isKnown === null ? `/media?search=${name}` : `/media/${name}`;
}

/** @param {Navigate} navigate */
function findForm(navigate) {
  const onSubmit = withTexts(({ find }) => find !== undefined && pathOf(find).then(navigate, announceProblem));
  return html`<form class="filters find" role="search" onSubmit=${onSubmit}>
    <label class="field inline wide"><span>Find</span>
      <input ...${plainText} name="find" type="search" maxlength="256" placeholder="Name, title or job id" /></label>
    <button type="submit" class="unseen" tabindex="-1">Find</button>
  </form>`;
}

/** `10,000+` where counting stopped. @param {number} value @param {number} max */
const counted = (value, max) => `${value.toLocaleString('en')}${value < max ? '' : '+'}`;

/** @param {Schemas['Overview']} overview */
function dayOf({ at, jobs, failures, media, counted_max: max }) {
  const total = statuses.reduce((sum, status) => sum + jobs[status], 0);
  if (total === 0 && media === 0) return newcomer();
  const from = localMinute(new Date(Date.parse(at) - 86_400_000));
  const link = (/** @type {Record<string, string>} */ filter) => `#/jobs?${new URLSearchParams({ ...filter, from })}`;
  const entries = statuses.map((status) => {
    const text = html`<a href=${link({ status })} class=${status === 'failed' && jobs.failed > 0 ? 'fault' : ''}>${counted(jobs[status], max.jobs)}</a>`;
    return /** @type {[string, ComponentChildren]} */ ([`${status[0]?.toUpperCase()}${status.slice(1)}`, text]);
  });
  return [
    card('Jobs of the last 24 hours', { class: 'day' }, numbers(entries)),
    failures.length > 0 && failuresCard(failures, max.jobs, link),
  ];
}

const newcomer = () =>
  emptyState(
    'Nothing has run yet',
    has('POST /api/uploads') ? 'Drop a video or an image on this page to begin.' : 'Submit a job to begin.',
    html`<a class="button primary" href="#/new">Submit a job</a>`,
  );

/** @param {Schemas['Overview']['failures']} failures @param {number} max @param {(filter: Record<string, string>) => string} link */
function failuresCard(failures, max, link) {
  const most = Math.max(...failures.map(({ jobs }) => jobs));
  const rows = failures.map(
    ({ code, jobs }) => html`<li key=${code} data-code=${code}>
      <a href=${link({ code })}>${code}</a>
      <strong>${counted(jobs, max)}</strong>
      ${shareBar(jobs / most)}
    </li>`,
  );
  return card('Failures by error', {}, html`<ul class="plain failures">${rows}</ul>`);
}

/** @param {readonly AnyJob[]} jobs */
function runningCard(jobs) {
  const rows = jobs.map(
    (job) => html`<li key=${job.job_id}>
      <a class="break" href=${`#/jobs/${job.job_id}`}>${job.hash}</a>
      <span class="soft">${job.type}, ${ago(job.created_at)}</span>
      ${progressBar(job)}
    </li>`,
  );
  return card(
    'Running now',
    { class: 'running', actions: html`<a href="#/jobs?status=processing">All</a>` },
    jobs.length === 0 ? html`<p class="soft">Nothing runs.</p>` : html`<ul class="job-list">${rows}</ul>`,
  );
}

/** @param {Schemas['Overview']} overview */
function sideOf(overview) {
  const { running, oldest_waiting_at: oldest, minutes_made: minutes, media, bytes_stored: bytes } = overview;
  const { counted_max: max } = overview;
  const wait = oldest === null ? 'nothing waits' : html`<a href="#/jobs?status=queued">${waited(oldest)}</a>`;
  const pools = has('GET /api/pools') ? html`<a href="#/pools">Pools</a>` : null;
  const bytesPlus = media < max.media ? '' : '+';
  return [
    card(
      'Queue',
      { actions: pools },
      numbers([
        ['Running', running.toLocaleString('en')],
        ['Longest wait', wait],
      ]),
    ),
    card(
      'Media',
      { actions: html`<a href="#/media">All</a>` },
      numbers([
        ['Minutes made in 24 hours', minutes.toLocaleString('en')],
        ['Media', counted(media, max.media)],
        ['Stored', `${bytesText(bytes)}${bytesPlus}`],
      ]),
    ),
  ];
}
