import { h } from 'preact';
import { useState } from 'preact/hooks';
import { ask, byHash, getJobs, has, statusOf } from './api.js';
import { html, useLoaded } from './base.js';
import { announce, announceProblem, confirmation } from './dialogs.js';
import { FilesCard } from './files.js';
import { withTexts } from './form.js';
import { bytesText, dateTimeText } from './format.js';
import { action, ago, card, emptyState, facts, isBusy, metadataFacts, statusBadge, whenLoaded } from './parts.js';
import { PlaybackCard } from './playback.js';
import { canRerun, makeAgain } from './rerun.js';
import { imagesCard, imagesOf, playerCard, streamOf, tracksCard } from './results.js';
import { shareCard } from './share.js';

// The page of one media: its player, its images and its jobs; where the server has the routes, its revisions, its
// expiry and its deletion.

/** @import { AnyJob, Media, MediumPage, Navigate, Schemas, Visit, VNode } from './types.ts' */

/** @param {unknown} problem */
function nullWhereUnknown(problem) {
  if (statusOf(problem) === 404) return null;
  throw problem;
}

const deletingMs = 2000;

/** @param {Visit & { hash: string }} visit */
export function MediumView({ hash, navigate }) {
  const [isDeleting, setDeleting] = useState(false);
  const loaded = useLoaded(
    async (signal) => {
      const [{ jobs }, medium] = await Promise.all([
        getJobs({ hash, include: 'results', limit: 50 }, signal),
        has('GET /api/media/{hash}')
          ? ask((http) => http.GET('/api/media/{hash}', byHash(hash))).catch(nullWhereUnknown)
          : null,
      ]);
      setDeleting(medium?.status === 'deleting');
      return { jobs, medium };
    },
    [hash],
    isDeleting ? deletingMs : 0,
  );
  return html`<div class="view page" aria-busy=${isBusy(loaded)}>
    ${whenLoaded(loaded, ({ jobs, medium }) => {
      if (jobs.length === 0 && medium === null) return notFound(hash);
      return [
        headOf({ hash, medium, reload: loaded.reload }, jobs, navigate),
        bodyOf({ hash, medium, reload: loaded.reload }, jobs),
      ];
    })}
  </div>`;
}

/** @param {string} hash */
const notFound = (hash) =>
  emptyState('Not found', `There is no job of “${hash}”.`, html`<a class="button" href="#/media">All media</a>`);

/** @param {MediumPage<Media | null>} given @param {AnyJob[]} jobs the newest first @param {Navigate} navigate */
function headOf({ hash, medium, reload }, jobs, navigate) {
  const isLive = medium === null || medium.status === 'live';
  const again = jobs.find((job) => streamOf(job) !== null && canRerun(job)) ?? jobs.find(canRerun);
  return html`<header class="page-head">
    <p class="crumbs"><a href="#/media">Media</a> /</p>
    <div class="title-line">
      ${
        medium?.title
          ? html`<h1>${medium.title}</h1><span class="mono soft">${hash}</span>`
          : html`<h1 class="mono">${hash}</h1>`
      }
      ${medium && medium.status !== 'live' && statusBadge(medium.status)}
      <div class="actions">
        ${isLive && again && action('Make again', () => makeAgain(again, navigate))}
        ${medium && deleteButton({ hash, medium, reload })}
      </div>
    </div>
  </header>`;
}

/** @param {MediumPage<Media | null>} given @param {AnyJob[]} jobs */
function bodyOf({ hash, medium, reload }, jobs) {
  const stream = jobs.find((job) => streamOf(job) !== null);
  const withImages = jobs.find((job) => imagesOf(job).length > 0);
  const rows = jobs.map(
    (job) => html`<li key=${job.job_id}>
      ${statusBadge(job.status)}
      <a href=${`#/jobs/${job.job_id}`}>${job.type}</a>
      <span class="soft">${ago(job.created_at)}</span>
    </li>`,
  );
  return html`<div class="columns">
    <div class="stack">
      ${stream && playerCard(stream)}
      ${withImages && imagesCard(withImages)}
      ${stream && tracksCard(stream)}
      ${stream && has('GET /api/media/{hash}/playback') && h(PlaybackCard, { hash })}
      ${medium?.status === 'live' && has('GET /api/media/{hash}/files') && h(FilesCard, { hash })}
    </div>
    <div class="stack side">
      ${stream && shareCard(stream, medium?.title ?? null)}
      ${medium && mediumCard({ hash, medium, reload })}
      ${medium && medium.revisions?.length > 0 && revisionsCard({ hash, medium, reload })}
      ${card('Jobs', {}, html`<ul class="job-list">${rows}</ul>`)}
    </div>
  </div>`;
}

/** @param {MediumPage} medium */
function deleteButton({ hash, medium, reload }) {
  if (!has('DELETE /api/media/{hash}') || medium.status !== 'live') return null;
  const run = async () => {
    const isSure = await confirmation({
      title: 'Delete this media?',
      text: `Every stream, image and content key of “${hash}” is deleted for good. Sources stay in the source bucket.`,
      action: 'Delete for good',
    });
    if (!isSure) return;
    await ask((http) => http.DELETE('/api/media/{hash}', byHash(hash)));
    announce('The deletion has begun.');
    await reload();
  };
  return action('Delete', run, 'danger');
}

/** @param {MediumPage} given */
function mediumCard({ hash, medium, reload }) {
  const isChangeable = has('PATCH /api/media/{hash}') && medium.status === 'live';
  return card(
    'Media',
    {},
    facts([
      ['Status', medium.status],
      ...metadataFacts(medium.metadata),
      ['Size', Number.isFinite(medium.bytes) ? `${bytesText(medium.bytes)} in ${medium.objects} objects` : null],
      ['Key id', medium.kid && html`<code class="break">${medium.kid}</code>`],
      ['Expires', medium.expires_at ? dateTimeText(medium.expires_at) : 'never'],
      ['Legal hold', medium.legal_hold ? 'yes' : null],
    ]),
    isChangeable && titleForm({ hash, medium, reload }),
    isChangeable && expiryForm({ hash, medium, reload }),
  );
}

/** @param {MediumPage} given */
function titleForm(given) {
  const input = html`<input name="title" maxlength="256" autocomplete="off" defaultValue=${given.medium.title ?? ''} />`;
  return changeForm(given, {
    label: 'Title (empty: none)',
    input,
    button: 'Rename',
    done: 'The title was changed.',
    makeBody: ({ title = null }) => ({ title }),
  });
}

/** @param {MediumPage} given */
function expiryForm(given) {
  return changeForm(given, {
    label: 'Expires on (empty: never)',
    input: html`<input type="date" name="day" defaultValue=${given.medium.expires_at?.slice(0, 10) ?? ''} />`,
    button: 'Set',
    done: 'The expiry was changed.',
    makeBody: ({ day }) => ({ expires_at: day === undefined ? null : new Date(`${day}T00:00:00Z`).toISOString() }),
  });
}

/**
 * A form of one field that changes the media.
 *
 * @param {MediumPage} given
 * @param {{ label: string, input: VNode, button: string, done: string,
 *   makeBody: (texts: Record<string, string>) => Schemas['MediaChange'] }} change
 */
function changeForm({ hash, reload }, { label, input, button, done, makeBody }) {
  const change = async (/** @type {Record<string, string>} */ texts) => {
    await ask((http) => http.PATCH('/api/media/{hash}', { ...byHash(hash), body: makeBody(texts) }));
    announce(done);
    await reload();
  };
  return html`<form class="line-form" onSubmit=${withTexts((texts) => change(texts).catch(announceProblem))}>
    <label class="field"><span>${label}</span>${input}</label>
    <button type="submit" class="button">${button}</button>
  </form>`;
}

/** @param {MediumPage} given */
function revisionsCard({ hash, medium, reload }) {
  const canChoose = has('PUT /api/media/{hash}/current');
  const publish = (/** @type {string} */ revision) =>
    ask((http) => http.PUT('/api/media/{hash}/current', { ...byHash(hash), body: { revision } }));
  const choose = (/** @type {string} */ revision) =>
    action('Play this one', () => publish(revision).then(reload), 'small');
  const rows = medium.revisions.map(
    (each) => html`<li key=${each.revision}>
      <code>${each.revision}</code>
      <span class="soft">${bytesText(each.bytes)}, ${ago(each.created_at)}</span>
      ${each.current ? html`<strong>current</strong>` : canChoose && each.playlist && choose(each.revision)}
    </li>`,
  );
  return card('Revisions', {}, html`<ul class="job-list">${rows}</ul>`);
}
