import { h } from 'preact';
import { useRef } from 'preact/hooks';
import { root, textOf } from './api.js';
import { html, useLoaded, useStopping } from './base.js';
import { bytesText } from './format.js';
import { canSign, imageAddress, playback } from './links.js';
import { card, copyButton, shareBar, tableOf } from './parts.js';

// The results of a job: images, the stream with its player, its tracks, warnings.

/** @import { AnyJob, ResultImage, StreamJob } from './types.ts' */

/** The job with its results, where they have a stream. @param {AnyJob} job @returns {StreamJob | null} */
export function streamOf(job) {
  if ((job.type !== 'video:full' && job.type !== 'video:transcode') || !job.results?.streaming) return null;
  return /** @type {StreamJob} */ (job);
}

/** The tiles of a sheet of a storyboard, by rows (domain/media/storyboard.ts). */
export const sheetLayout = { columns: 10, rows: 3 };
/** The key of the first sheet of the storyboard of a stream; null where it has none. @param {StreamJob} job */
export const sheetOf = ({ results: { storyboard } }) =>
  storyboard ? storyboard.cues.replace(/[^/]+$/, 'sheet_1.jpg') : null;

/** @param {AnyJob} job @returns {ResultImage[]} */
export function imagesOf(job) {
  if (!job.results) return [];
  if (job.type === 'image:thumbnail') return job.results.outputs.map((output) => ({ ...output, name: output.variant }));
  if (job.type === 'video:cover') return [{ ...job.results, name: 'cover', color: job.results.dominant_color }];
  if (job.type === 'video:preview') return [{ ...job.results, name: 'preview' }];
  const { cover, preview } = job.type === 'video:full' ? (job.results.artifacts ?? {}) : {};
  const { waveform } = job.results;
  return [
    ...(cover ? [{ ...cover, name: 'cover', color: cover.dominant_color }] : []),
    ...(preview ? [{ ...preview, name: 'preview' }] : []),
    ...(waveform ? [{ ...waveform, name: 'waveform' }] : []),
  ];
}

/** An image of the media bucket, which has its place before it is there. @param {{ image: ResultImage }} props */
function Shot({ image: { name, key, size, width, height } }) {
  const { data: small } = useLoaded(() => imageAddress(key, { w: 480 }), [key]);
  const { data: whole } = useLoaded(() => imageAddress(key), [key]);
  const measures = [width && `${width} × ${height}`, bytesText(size)].filter(Boolean).join(' · ');
  return html`<figure class="shot">
    ${
      canSign() &&
      html`<a target="_blank" rel="noopener" aria-label=${`Open ${name}`} href=${whole ?? undefined}>
      <img alt="" loading="lazy" decoding="async" src=${small ?? undefined} />
    </a>`
    }
    <figcaption>
      <span class="shot-name">${name}</span><span class="soft">${measures}</span>
      ${canSign() && html`<a href=${`#/images?${new URLSearchParams({ key })}`} aria-label=${`Resize ${name}`}>Resize</a>`}
    </figcaption>
  </figure>`;
}

/** @param {AnyJob} job */
export function imagesCard(job) {
  const images = imagesOf(job);
  if (images.length === 0) return null;
  const shots = images.map((image) => h(Shot, { key: `${image.name} ${image.key}`, image }));
  return card('Images', {}, html`<div class="shots">${shots}</div>`);
}

/** The player, by the element that any page may use: a frame with the player page. @param {AnyJob} job */
export function playerCard(job) {
  const stream = streamOf(job);
  if (stream === null) return null;
  const { hash, results } = stream;
  const cover = 'artifacts' in results ? results.artifacts?.cover?.key : undefined;
  const isEncrypted = results.streaming?.encrypted === true;
  const master = new URL(`stream/${encodeURIComponent(hash)}/master.m3u8`, root).href;
  return card(
    'Stream',
    {},
    canSign()
      ? h(Player, { key: hash, hash, isEncrypted, cover: cover ?? null })
      : html`<div class="player-place">
          <p class="soft pad">This server signs no playback tokens: it does not deliver streams itself.</p>
        </div>`,
    html`<p class="address"><code>${master}</code>${copyButton('Copy the address of the stream', () => master)}</p>`,
  );
}

/** Not before it is needed: a server that does not deliver has no such file. */
async function loadElement() {
  if (document.querySelector('#player-element') === null) {
    const script = document.createElement('script');
    const src = new URL('player/element.js', root).href;
    document.head.append(Object.assign(script, { type: 'module', id: 'player-element', src }));
  }
  await customElements.whenDefined('reelwright-player');
}

/** @param {{ hash: string, isEncrypted: boolean, cover: string | null }} props */
function Player({ hash, isEncrypted, cover }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const signal = useStopping();
  const { data: fault } = useLoaded(async () => {
    try {
      const player = await playerOf({ hash, isEncrypted, cover });
      if (!signal.aborted) place.current?.replaceChildren(player);
      return '';
    } catch (problem) {
      return textOf(problem);
    }
  }, [hash, isEncrypted, cover]);
  return html`<div>
    <div class="player-place" ref=${place}></div>
    ${fault && html`<p class="pad" role="alert">${fault}</p>`}
  </div>`;
}

/** @param {{ hash: string, isEncrypted: boolean, cover: string | null }} stream */
async function playerOf({ hash, isEncrypted, cover }) {
  await loadElement();
  const player = document.createElement('reelwright-player');
  player.setAttribute('src', root.href);
  player.setAttribute('label', `Player of ${hash}`);
  const { token, ticket } = await playback(hash);
  if (isEncrypted) player.setAttribute('token', token);
  if (ticket !== null) player.setAttribute('ticket', ticket);
  const poster = cover === null ? null : await imageAddress(cover);
  if (poster !== null) player.setAttribute('poster', poster.slice(root.href.length));
  Object.assign(player, {
    getToken: async () => (await playback(hash)).token,
    getTicket: async () => (await playback(hash)).ticket,
  });
  player.setAttribute('hash', hash);
  return player;
}

/** @param {number} bits */
const rate = (bits) => `${(bits / 1e6).toFixed(2)} Mb/s`;

/** @param {AnyJob} job */
export function tracksCard(job) {
  const stream = streamOf(job);
  if (stream === null) return null;
  const { video_tracks: rungs = [], audio_tracks: audio = [], text_tracks: texts = [] } = stream.results;
  const most = Math.max(1, ...rungs.map(({ bitrate }) => bitrate));
  const rows = [
    ...rungs.map(({ width, height, codec, bitrate, quality }) => [
      'Video',
      `${width} × ${height}`,
      codec,
      html`<span>${rate(bitrate)}</span>${shareBar(bitrate / most)}`,
      // The score that samples of the source have in this rung, where the profile wants it measured.
      quality ? `${quality.measure.toUpperCase()} ${quality.score}, CRF ${quality.crf}` : '',
    ]),
    ...audio.map((track) => [
      'Audio',
      track.language,
      `${track.codec}, ${track.channels} ch`,
      rate(track.bitrate),
      track.role,
    ]),
    ...texts.map((track) => ['Captions', track.name || track.language, track.codec, '', '']),
  ];
  const isUnscored = rungs.length > 0 && rungs.every(({ quality }) => !quality);
  return card(
    'Tracks',
    {},
    tableOf('Tracks', ['Kind', 'Track', 'Codec', 'Bitrate', 'Score or note'], rows),
    isUnscored && html`<p class="soft">For quality scores, set <code>quality</code> in the profile.</p>`,
  );
}

/** @param {AnyJob} job */
export function warningsCard({ results }) {
  const warnings = (results && 'warnings' in results ? results.warnings : null) ?? [];
  if (warnings.length === 0) return null;
  const rows = warnings.map(({ code, message }) => html`<li><code>${code}</code> ${message}</li>`);
  return card('Warnings', {}, html`<ul class="plain">${rows}</ul>`);
}
