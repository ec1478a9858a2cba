import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, getJobs, has } from './api.js';
import { html, useLoaded } from './base.js';
import { useFeed } from './feed.js';
import { pathWith, plainText, withTexts } from './form.js';
import { durationText } from './format.js';
import { imageAddress } from './links.js';
import { ago, emptyState, feedEnd, icon, progressBar, statusBadge } from './parts.js';
import { imagesOf, sheetLayout, sheetOf, streamOf } from './results.js';

// The board of media: a card for each with its cover, its preview while one looks at it, and the progress of its jobs.

/** @import { AnyJob, FeedOptions, ListedMedia, MediaFilter, Navigate, StreamJob, Visit } from './types.ts' */

const stillMoving = window.matchMedia('(prefers-reduced-motion: no-preference)');
const activeMs = 2000;
/** So many of the newest queued jobs, and of the running ones, are shown with their progress. */
const activeMax = 100;
/** So many of its newest jobs decide how the card of a media looks. */
const jobsOfCard = 10;

/** @type {Readonly<Record<string, readonly [text: string, filter: MediaFilter]>>} */
const orders = {
  '': ['Newest first', {}],
  largest: ['Largest first', { bytes_min: 0 }],
  expiring: ['Expiring first', { expires_before: '9999-12-31T00:00:00Z' }],
};

/** A string of the metadata: its name, and what it is. */
const pairPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}=/;

/** Titles and metadata are found too where the server knows them. @param {URLSearchParams} query @returns {MediaFilter} */
function filterOf(query) {
  const text = query.get('search') ?? '';
  if (pairPattern.test(text) && has('GET /api/media?metadata')) return { metadata: [text] };
  if (text !== '') return has('GET /api/media?q') ? { q: text } : { prefix: text };
  return orders[query.get('order') ?? '']?.[1] ?? {};
}

/** @param {MediaFilter} filter @returns {FeedOptions<ListedMedia>} */
const listOf = (filter) => ({
  async read(page, signal) {
    const query = { ...filter, ...page };
    const { media: items, next_cursor: cursor } = await ask((http) =>
      http.GET('/api/media', { params: { query }, signal }),
    );
    return { items, cursor };
  },
  idOf: ({ hash }) => hash,
  pageSize: 60,
  polledItems: 60,
  // In another order, new ones have no place at the top.
  pollMs: Object.keys(filter).length === 0 ? 3000 : 0,
});

/** The newest active job of each media. @param {AbortSignal} signal */
async function readActive(signal) {
  const pages = await Promise.all(
    /** @type {const} */ (['processing', 'queued']).map((status) => getJobs({ status, limit: activeMax }, signal)),
  );
  return pages.flatMap(({ jobs }) => jobs);
}

/** @param {Visit} visit */
export function MediaView({ query, navigate }) {
  const [filter] = useState(() => filterOf(query));
  const feed = useFeed(listOf(filter));
  const { data: active } = useLoaded(readActive, [], activeMs);
  const byHash = new Map((active ?? []).toReversed().map((job) => [job.hash, job]));
  const isPlain = Object.keys(filter).length === 0;
  const known = new Set(feed.items.map(({ hash }) => hash));
  const begun = isPlain ? [...byHash.keys()].filter((hash) => !known.has(hash)).toReversed() : [];
  const count = feed.items.length.toLocaleString('en');
  const tile = (/** @type {string} */ hash, /** @type {ListedMedia | null} */ medium) =>
    html`<li key=${hash}>${h(Tile, { hash, medium, active: byHash.get(hash) ?? null })}</li>`;
  const tiles = [...begun.map((hash) => tile(hash, null)), ...feed.items.map((medium) => tile(medium.hash, medium))];
  const shown = { ...feed, items: tiles };
  return html`<div class="view scrolls">
    <div class="view-head">
      <h1>Media</h1>
      <p class="count" role="status">${feed.isRead && `${count}${feed.isWhole ? '' : '+'} media`}</p>
      ${filterForm(query, navigate)}
    </div>
    <ul class="board" aria-label="Media">${tiles}</ul>
    ${feedEnd(shown, isPlain ? noMedia : noMatch)}
  </div>`;
}

/** @param {URLSearchParams} query @param {Navigate} navigate */
function filterForm(query, navigate) {
  const onSubmit = withTexts((texts) => navigate(pathWith('/media', texts)));
  const placeholder = has('GET /api/media?metadata')
    ? 'Title, name or customer=42'
    : has('GET /api/media?q')
      ? 'Title or name'
      : 'Name';
  return html`<form class="filters" aria-label="Filter" onSubmit=${onSubmit}>
    <label class="field inline wide"><span>Search</span>
      <input ...${plainText} name="search" type="search" maxlength="256" placeholder=${placeholder}
        defaultValue=${query.get('search') ?? ''} /></label>
    <label class="field inline"><span>Order</span>
      <select name="order" onChange=${onSubmit}>
        ${Object.entries(orders).map(
          ([name, [text]]) =>
            html`<option value=${name} selected=${name === (query.get('order') ?? '')}>${text}</option>`,
        )}
      </select></label>
    <button type="submit" class="unseen" tabindex="-1">Search</button>
  </form>`;
}

const noMatch = () =>
  emptyState(
    'No media matches',
    'Change the search, or show all.',
    html`<a class="button" href="#/media">All media</a>`,
  );

const noMedia = () =>
  emptyState(
    'No media yet',
    has('POST /api/uploads')
      ? 'Drop a video or an image on this page to begin.'
      : 'Submit a job, and its images and streams are shown here.',
    html`<a class="button primary" href="#/new">Submit a job</a>`,
  );

/** Whether an element has been in view: what a card needs is read then. @param {{ current: Element | null }} place */
function useSeen(place) {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const watching = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      watching.disconnect();
      setSeen(true);
    });
    watching.observe(current);
    return () => watching.disconnect();
  }, []);
  return isSeen;
}

/**
 * The newest job with an image decides what a card shows, else the first picture of the storyboard.
 *
 * @param {{ hash: string, medium: ListedMedia | null, active: AnyJob | null }} props
 */
function Tile({ hash, medium, active }) {
  const [isLookedAt, setLookedAt] = useState(false);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const isSeen = useSeen(place);
  const { data } = useLoaded(
    async (signal) => (isSeen ? await getJobs({ hash, include: 'results', limit: jobsOfCard }, signal) : { jobs: [] }),
    [hash, isSeen, medium?.updated_at, active?.job_id],
  );
  const jobs = data?.jobs ?? [];
  const images = jobs.flatMap(imagesOf);
  const preview = images.find(({ name }) => name === 'preview');
  const cover =
    images.find(({ name }) => name === 'cover' || name === 'waveform') ?? images.find(({ name }) => name !== 'preview');
  const stream = jobs.map(streamOf).find((job) => job !== null) ?? null;
  const sheet = stream === null ? null : sheetOf(stream);
  const [shown, isSheet] = cover ? [cover.key, false] : sheet === null ? [preview?.key, false] : [sheet, true];
  const look = (/** @type {boolean} */ isLooking) => () => setLookedAt(isLooking);
  const isGone = medium !== null && medium.status !== 'live';
  const title = medium?.title ?? null;
  return html`<article ref=${place} class="tile" data-gone=${isGone} onMouseEnter=${look(true)}
    onMouseLeave=${look(false)} onFocusIn=${look(true)} onFocusOut=${look(false)}>
    <div class="cover" style=${cover?.color ? { '--color': cover.color } : {}}>
      ${
        shown && !isGone
          ? h(Cover, { key: shown, shown, isSheet, preview: isLookedAt ? (preview?.key ?? null) : null })
          : icon('M8 5v14l11-7z')
      }
      ${stream && !isGone && html`<span class="length">${lengthOf(stream)}</span>`}
    </div>
    <div class="tile-text">
      <h2 class=${title === null ? 'mono' : ''} title=${hash}>
        <a class="cover-link" href=${`#/media/${encodeURIComponent(hash)}`}>${title ?? hash}</a>
      </h2>
      ${active ? progressBar(active) : isGone ? statusBadge(medium.status) : summaryOf(jobs, stream)}
    </div>
  </article>`;
}

/** @param {StreamJob} job */
const lengthOf = ({ results: { source } }) => (source ? durationText(source.duration_sec * 1000) : '');

/** @param {AnyJob[]} jobs newest first @param {StreamJob | null} stream */
function summaryOf([newest], stream) {
  if (newest === undefined) return null;
  const tracks = stream?.results.video_tracks ?? [];
  const height = Math.max(0, ...tracks.map((track) => Math.min(track.width, track.height)));
  const texts = [
    newest.status === 'completed' ? '' : newest.status,
    height > 0 ? `${height}p` : '',
    stream?.results.streaming?.encrypted ? 'encrypted' : '',
  ].filter((text) => text !== '');
  return html`<p class=${newest.status === 'failed' ? 'soft fault' : 'soft'}>
    ${texts.map((text) => `${text} · `)}${ago(newest.updated_at)}
  </p>`;
}

/**
 * The cover, or the first tile of a sheet, and the preview while there is one.
 *
 * @param {{ shown: string, isSheet: boolean, preview: string | null }} props
 */
function Cover({ shown, isSheet, preview }) {
  const options = isSheet ? {} : /** @type {const} */ ({ w: 480, h: 270, fit: 'cover', f: 'webp' });
  const { data: still } = useLoaded(() => imageAddress(shown, options), [shown]);
  const [isTall, setTall] = useState(false);
  const [moving, setMoving] = useState(/** @type {string | null} */ (null));
  // Retention may have removed it.
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    let isWanted = preview !== null && stillMoving.matches;
    if (preview !== null && isWanted) void imageAddress(preview).then((address) => isWanted && setMoving(address));
    return () => {
      isWanted = false;
      setMoving(null);
    };
  }, [preview]);
  const src = isGone ? undefined : ((still && moving) ?? still ?? undefined);
  const onLoad = (/** @type {Event} */ { currentTarget }) => {
    if (!isSheet || !(currentTarget instanceof HTMLImageElement)) return;
    const { naturalWidth: width, naturalHeight: height } = currentTarget;
    setTall(width / sheetLayout.columns / (height / sheetLayout.rows) < 16 / 9);
  };
  const crop = isSheet && src === still ? (isTall ? 'tall' : 'wide') : null;
  return html`<img alt="" loading="lazy" decoding="async" data-key=${shown} data-sheet=${crop} src=${src}
    onLoad=${onLoad} onError=${() => setGone(true)} />`;
}
