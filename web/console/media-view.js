import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { findJob, getJobs, has } from './api.js';
import { html, useLoaded } from './base.js';
import { useFeed } from './feed.js';
import { durationText, isActive } from './format.js';
import { imageAddress } from './links.js';
import { ago, emptyState, feedEnd, icon, progressBar } from './parts.js';
import { imagesOf, streamOf } from './results.js';

// The board of media: a card for each hash with its cover, its preview while one looks at it, and the progress of its
// jobs.

/** @import { AnyJob, FeedOptions, StreamJob } from './types.ts' */

/** Active jobs that are asked for one by one, since many younger ones were submitted after them. */
const askedMax = 12;
const stillMoving = window.matchMedia('(prefers-reduced-motion: no-preference)');

/** @type {FeedOptions<AnyJob>} */
const list = {
  async read(page, signal) {
    const { jobs: items, next_cursor: cursor } = await getJobs({ include: 'results', ...page }, signal);
    return { items, cursor };
  },
  async ask(newest, known, signal) {
    const isNewest = new Set(newest.map(({ job_id: id }) => id));
    const active = known.filter((job) => isActive(job) && !isNewest.has(job.job_id));
    // The running ones, then those that run next.
    const first = active.toSorted(
      (a, b) => a.status.localeCompare(b.status) || a.created_at.localeCompare(b.created_at),
    );
    const asked = first.slice(0, askedMax).map(({ job_id: id }) => findJob(id, signal));
    return (await Promise.all(asked)).filter((job) => job !== null);
  },
  idOf: ({ job_id: id }) => id,
  pageSize: 60,
  polledItems: 20,
  pollMs: 2000,
};

/** The jobs of each hash. A hash keeps its place when a job comes to it. @param {readonly AnyJob[]} jobs */
function useGroups(jobs) {
  const order = useRef(/** @type {string[]} */ ([]));
  const groups = Map.groupBy(jobs, ({ hash }) => hash);
  const hashes = [...groups.keys()];
  const added = hashes.filter((hash) => !order.current.includes(hash));
  const end = hashes.findIndex((hash) => order.current.includes(hash));
  const isOnTop = (/** @type {string} */ hash) => hashes.indexOf(hash) < end;
  order.current = [...added.filter(isOnTop), ...order.current, ...added.filter((hash) => !isOnTop(hash))];
  return order.current.map((hash) => ({ hash, jobs: groups.get(hash) ?? [] }));
}

export function MediaView() {
  const feed = useFeed(list);
  const groups = useGroups(feed.items);
  return html`<div class="view scrolls">
    <div class="view-head"><h1>Media</h1></div>
    <ul class="board" aria-label="Media, newest first">
      ${groups.map(({ hash, jobs }) => html`<li key=${hash}>${h(Tile, { hash, jobs })}</li>`)}
    </ul>
    ${feedEnd(feed, noMedia)}
  </div>`;
}

const noMedia = () =>
  emptyState(
    'No media yet',
    has('POST /api/uploads')
      ? 'Drop a video or an image on this page to begin.'
      : 'Submit a job, and its images and streams are shown here.',
    html`<a class="button primary" href="#/new">Submit a job</a>`,
  );

/** The newest job with an image decides what a card shows. @param {{ hash: string, jobs: AnyJob[] }} props */
function Tile({ hash, jobs: given }) {
  const [isLookedAt, setLookedAt] = useState(false);
  const jobs = given.toSorted((a, b) => b.created_at.localeCompare(a.created_at));
  const active = jobs.find(isActive);
  const images = jobs.flatMap(imagesOf);
  const cover =
    images.find(({ name }) => name === 'cover' || name === 'waveform') ?? images.find(({ name }) => name !== 'preview');
  const preview = images.find(({ name }) => name === 'preview');
  const shown = cover?.key ?? preview?.key;
  const stream = jobs.map(streamOf).find((job) => job !== null) ?? null;
  const look = (/** @type {boolean} */ isLooking) => () => setLookedAt(isLooking);
  return html`<article class="tile" onMouseEnter=${look(true)} onMouseLeave=${look(false)} onFocusIn=${look(true)}
    onFocusOut=${look(false)}>
    <div class="cover" style=${cover?.color ? { '--color': cover.color } : {}}>
      ${shown ? h(Cover, { key: shown, shown, preview: isLookedAt ? (preview?.key ?? null) : null }) : icon('M8 5v14l11-7z')}
      ${stream && html`<span class="length">${lengthOf(stream)}</span>`}
    </div>
    <div class="tile-text">
      <h2 class="mono"><a class="cover-link" href=${`#/media/${encodeURIComponent(hash)}`}>${hash}</a></h2>
      ${active ? progressBar(active) : summaryOf(jobs, stream)}
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

/** The cover, and the preview while there is one. @param {{ shown: string, preview: string | null }} props */
function Cover({ shown, preview }) {
  const { data: still } = useLoaded(() => imageAddress(shown, { w: 480, h: 270, fit: 'cover', f: 'webp' }), [shown]);
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
  return html`<img alt="" loading="lazy" decoding="async" data-key=${shown} src=${src} onError=${() => setGone(true)} />`;
}
