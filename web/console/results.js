import { root } from './api.js';
import { copyButton, h } from './dom.js';
import { bytesText } from './format.js';
import { canSign, imageAddress, playbackToken } from './links.js';
import { card } from './parts.js';

// The results of a job: images, the stream with its player, its tracks, warnings.

/** Images in results of any type, as `{name, key, size, width, height, color}`. */
export function imagesOf({ type, results }) {
  if (!results) return [];
  if (type === 'image:thumbnail') return results.outputs.map((output) => ({ ...output, name: output.variant }));
  if (type === 'video:cover') return [{ ...results, name: 'cover', color: results.dominant_color }];
  if (type === 'video:preview') return [{ ...results, name: 'preview' }];
  const { cover, preview } = results.artifacts ?? {};
  return [
    ...(cover ? [{ ...cover, name: 'cover', color: cover.dominant_color }] : []),
    ...(preview ? [{ ...preview, name: 'preview' }] : []),
    ...(results.waveform ? [{ ...results.waveform, name: 'waveform' }] : []),
  ];
}

async function showAddress(promise, image) {
  const address = await promise;
  if (address) image.src = address;
}

/** An image of the media bucket, which has its place before it is there. */
export function signedImage(key, options, alt = '') {
  const image = h('img', { alt, loading: 'lazy', decoding: 'async' });
  void showAddress(imageAddress(key, options), image);
  return image;
}

const figure = ({ name, key, size, width, height }) => {
  const open = h(
    'a',
    { target: '_blank', rel: 'noopener', 'aria-label': `Open ${name}` },
    signedImage(key, { w: 480 }),
  );
  void imageAddress(key).then((address) => address && (open.href = address));
  const measures = [width && `${width} × ${height}`, bytesText(size)].filter(Boolean).join(' · ');
  return h(
    'figure',
    { class: 'shot' },
    canSign() ? open : null,
    h('figcaption', {}, h('span', { class: 'shot-name' }, name), h('span', { class: 'soft' }, measures)),
  );
};

export function imagesCard(job) {
  const images = imagesOf(job);
  if (images.length === 0) return null;
  return card('Images', {}, h('div', { class: 'shots' }, images.map(figure)));
}

/** The player, by the element that any page may use: a frame with the player page. */
export function playerCard({ hash, results }, title = 'Stream') {
  if (!results?.streaming) return null;
  const place = h('div', { class: 'player-place' });
  if (canSign()) void showPlayer(place, { hash, results });
  else
    place.append(
      h('p', { class: 'soft pad' }, 'This server signs no playback tokens: it does not deliver streams itself.'),
    );
  const master = new URL(`stream/${encodeURIComponent(hash)}/master.m3u8`, root).href;
  return card(
    title,
    {},
    place,
    h(
      'p',
      { class: 'address' },
      h('code', {}, master),
      copyButton('Copy the address of the stream', () => master),
    ),
  );
}

const row = (cells) =>
  h(
    'tr',
    {},
    cells.map((cell) => h('td', {}, cell)),
  );

const rate = (bits) => `${(bits / 1e6).toFixed(2)} Mb/s`;

/** The score that samples of the source have in this rung, where the profile wants it measured. */
const scoreText = ({ quality }) =>
  quality ? `${quality.measure.toUpperCase()} ${quality.score}, CRF ${quality.crf}` : '';

/** The bitrate of a rung, and a bar against the highest one. */
const bitsCell = (bitrate, most) => [
  h('span', {}, rate(bitrate)),
  h('span', { class: 'bits', vars: { '--share': `${(100 * bitrate) / most}%` }, 'aria-hidden': 'true' }),
];

/** Not before it is needed: a server that does not deliver has no such file. */
async function loadElement() {
  const src = new URL('player/element.js', root).href;
  if (document.querySelector('#player-element') === null)
    document.head.append(h('script', { type: 'module', id: 'player-element', src }));
  await customElements.whenDefined('reelwright-player');
}

async function showPlayer(place, { hash, results }) {
  const player = h('reelwright-player', { src: root.href, label: `Player of ${hash}` });
  try {
    await loadElement();
    if (results.streaming.encrypted) player.setAttribute('token', await playbackToken(hash));
    const poster = results.artifacts?.cover ? await imageAddress(results.artifacts.cover.key) : null;
    if (poster) player.setAttribute('poster', poster.slice(root.href.length));
    player.getToken = () => playbackToken(hash);
    player.setAttribute('hash', hash);
    place.replaceChildren(player);
  } catch (problem) {
    place.replaceChildren(h('p', { class: 'pad', role: 'alert' }, problem.message));
  }
}

export function tracksCard({ results }) {
  if (!results?.streaming) return null;
  const rungs = results.video_tracks ?? [];
  const most = Math.max(1, ...rungs.map(({ bitrate }) => bitrate));
  return card(
    'Tracks',
    {},
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Tracks' },
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ['Kind', 'Track', 'Codec', 'Bitrate', 'Score or note'].map((name) => h('th', { scope: 'col' }, name)),
          ),
        ),
        h(
          'tbody',
          {},
          rungs.map((track) =>
            row([
              'Video',
              `${track.width} × ${track.height}`,
              track.codec,
              bitsCell(track.bitrate, most),
              scoreText(track),
            ]),
          ),
          (results.audio_tracks ?? []).map((track) =>
            row(['Audio', track.language, `${track.codec}, ${track.channels} ch`, rate(track.bitrate), track.role]),
          ),
          (results.text_tracks ?? []).map((track) =>
            row(['Captions', track.name || track.language, track.codec, '', '']),
          ),
        ),
      ),
    ),
    rungs.length > 0 && rungs.every(({ quality }) => !quality)
      ? h('p', { class: 'soft' }, 'A profile with ', h('code', {}, 'quality'), ' gives each rung a score.')
      : null,
  );
}

export function warningsCard({ results }) {
  const warnings = results?.warnings ?? [];
  if (warnings.length === 0) return null;
  return card(
    'Warnings',
    {},
    h(
      'ul',
      { class: 'plain' },
      warnings.map(({ code, message }) => h('li', {}, h('code', {}, code), ` ${message}`)),
    ),
  );
}
