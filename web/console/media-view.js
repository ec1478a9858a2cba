import { api, has } from './api.js';
import { h, icon } from './dom.js';
import { agoText, durationText, isActive } from './format.js';
import { imageAddress } from './links.js';
import { newestFirst } from './newest-first.js';
import { emptyState, progressBar } from './parts.js';
import { imagesOf } from './results.js';

// The board of media: a card for each hash with its cover, its preview while one looks at it, and the progress of its
// jobs.

const pollMs = 2000;
const pageSize = 60;
const stillMoving = window.matchMedia('(prefers-reduced-motion: no-preference)');

const read = async (page, signal) => {
  const { jobs: items, next_cursor: cursor } = await api.jobs({ include: 'results', ...page }, signal);
  return { items, cursor };
};

/** @returns `{node, destroy()}` */
export function mediaView() {
  const stopping = new AbortController();
  const { signal } = stopping;
  const grid = h('ul', { class: 'board', 'aria-label': 'Media, newest first' });
  const cards = new Map();

  /** Jobs come newest first, and the newest with an image decides what a card shows. */
  const take = (job, isOnTop) => {
    let entry = cards.get(job.hash);
    if (entry === undefined) {
      entry = { node: h('li', {}), jobs: new Map(), drawn: '' };
      cards.set(job.hash, entry);
      if (isOnTop) grid.prepend(entry.node);
      else grid.append(entry.node);
    }
    entry.jobs.set(job.job_id, job);
    const newest = [...entry.jobs.values()].toSorted((a, b) => b.created_at.localeCompare(a.created_at));
    draw(entry, newest);
  };

  const isEmpty = () => cards.size === 0;
  const { message, more } = newestFirst({ read, take, isEmpty, empty: noMedia, pageSize, pollMs, signal });
  const node = h(
    'div',
    { class: 'view scrolls' },
    h('div', { class: 'view-head' }, h('h1', {}, 'Media')),
    grid,
    message,
    h('p', { class: 'more' }, more),
  );
  return { node, destroy: () => stopping.abort() };
}

const noMedia = () =>
  emptyState(
    'No media yet',
    has('POST /api/uploads')
      ? 'Drop a video or an image on this page to begin.'
      : 'Submit a job, and its images and streams are shown here.',
    h('a', { class: 'button primary', href: '#/new' }, 'Submit a job'),
  );

function draw(entry, jobs) {
  const active = jobs.find(isActive);
  const images = jobs.flatMap(imagesOf);
  const cover =
    images.find(({ name }) => name === 'cover' || name === 'waveform') ?? images.find(({ name }) => name !== 'preview');
  const preview = images.find(({ name }) => name === 'preview');
  const stream = jobs.find(({ results }) => results?.streaming);
  const drawn = JSON.stringify([
    active?.progress,
    active?.phase,
    active?.job_id,
    jobs[0].status,
    cover?.key,
    preview?.key,
    stream?.job_id,
  ]);
  if (entry.drawn === drawn) return;
  entry.drawn = drawn;
  const before = entry.node.querySelector('img');
  const shownKey = cover?.key ?? preview?.key;
  // The image stays while only the progress changes.
  const image = before?.dataset.key === shownKey ? before : coverImage(shownKey, preview?.key);
  const { hash } = jobs[0];
  const frame = h(
    'div',
    { class: 'cover', vars: cover?.color ? { '--color': cover.color } : {} },
    image ?? icon('M8 5v14l11-7z'),
    stream ? h('span', { class: 'length' }, lengthOf(stream.results)) : null,
  );
  const link = h('a', { class: 'cover-link', href: `#/media/${encodeURIComponent(hash)}` }, hash);
  const hover = (isShown) => () => image && showPreview(image, isShown);
  entry.node.replaceChildren(
    h(
      'article',
      {
        class: 'tile',
        onmouseenter: hover(true),
        onmouseleave: hover(false),
        onfocusin: hover(true),
        onfocusout: hover(false),
      },
      frame,
      h(
        'div',
        { class: 'tile-text' },
        h('h2', { class: 'mono' }, link),
        active ? progressBar(active) : summaryOf(jobs, stream),
      ),
    ),
  );
}

function lengthOf({ source }) {
  return source ? durationText(source.duration_sec * 1000) : '';
}

function summaryOf([newest], stream) {
  const height = Math.max(
    0,
    ...(stream?.results.video_tracks ?? []).map((track) => Math.min(track.width, track.height)),
  );
  const texts = [
    newest.status === 'completed' ? null : newest.status,
    height > 0 ? `${height}p` : null,
    stream?.results.streaming.encrypted ? 'encrypted' : null,
    agoText(newest.updated_at),
  ];
  return h('p', { class: newest.status === 'failed' ? 'soft fault' : 'soft' }, texts.filter(Boolean).join(' · '));
}

function coverImage(key, previewKey) {
  if (key === undefined) return null;
  const image = h('img', { alt: '', loading: 'lazy', decoding: 'async', dataset: { key, preview: previewKey ?? '' } });
  // Retention may have removed it.
  image.addEventListener('error', () => image.removeAttribute('src'));
  void showStill(image, key);
  return image;
}

async function showStill(image, key) {
  const address = await imageAddress(key, { w: 480, h: 270, fit: 'cover', f: 'webp' });
  if (!address) return;
  image.dataset.still = address;
  image.src = address;
}

async function showPreview(image, isShown) {
  const { preview, still } = image.dataset;
  if (preview === '' || still === undefined || !stillMoving.matches) return;
  image.dataset.wanted = String(isShown);
  const address = isShown ? await imageAddress(preview) : still;
  if (address && image.dataset.wanted === String(isShown)) image.src = address;
}
