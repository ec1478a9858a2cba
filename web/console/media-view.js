import { api, has } from './api.js';
import { h, icon, redraw } from './dom.js';
import { durationText, isActive } from './format.js';
import { imageAddress } from './links.js';
import { newestFirst } from './newest-first.js';
import { ago, emptyState, progressBar } from './parts.js';
import { imagesOf } from './results.js';

// The board of media: a card for each hash with its cover, its preview while one looks at it, and the progress of its
// jobs.

const pollMs = 2000;
const pageSize = 60;
/** Active jobs that are asked for one by one, since many younger ones were submitted after them. */
const askedMax = 12;
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
  const isKnown = ({ hash, job_id: id }) => cards.get(hash)?.jobs.has(id) ?? false;
  const readOlder = async (newest) => {
    const isNewest = new Set(newest.map(({ job_id: id }) => id));
    const active = [...cards.values()]
      .flatMap(({ jobs }) => [...jobs.values()])
      .filter((job) => isActive(job) && !isNewest.has(job.job_id));
    // The running ones, then those that run next.
    const first = active.toSorted(
      (a, b) => a.status.localeCompare(b.status) || a.created_at.localeCompare(b.created_at),
    );
    const asked = await Promise.all(
      first.slice(0, askedMax).map(({ job_id: id }) => api.job(id, signal).catch(() => null)),
    );
    return asked.filter(Boolean);
  };
  const list = { read, readOlder, take, isKnown, isEmpty, empty: noMedia, pageSize, pollMs, signal };
  const { message, more } = newestFirst(list);
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
    active && [active.job_id, active.status, active.progress, active.phase, active.eta, active.reason?.code],
    jobs[0].job_id,
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
  const image = before?.dataset.key === shownKey ? before : coverImage(shownKey);
  if (image) image.dataset.preview = preview?.key ?? '';
  const { hash } = jobs[0];
  const frame = h(
    'div',
    { class: 'cover', vars: cover?.color ? { '--color': cover.color } : {} },
    image ?? icon('M8 5v14l11-7z'),
    stream ? h('span', { class: 'length' }, lengthOf(stream.results)) : null,
  );
  const link = h('a', { class: 'cover-link', href: `#/media/${encodeURIComponent(hash)}` }, hash);
  const hover = (isShown) => () => image && showPreview(image, isShown);
  redraw(
    entry.node,
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
  ].filter(Boolean);
  const kind = newest.status === 'failed' ? 'soft fault' : 'soft';
  return h(
    'p',
    { class: kind },
    texts.map((text) => `${text} · `),
    ago(newest.updated_at),
  );
}

function coverImage(key) {
  if (key === undefined) return null;
  const image = h('img', { alt: '', loading: 'lazy', decoding: 'async', dataset: { key } });
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
