import { keyAddress, kindOfAddress, streamAddress, withTicket } from './addresses.js';
import { insecureContextProblem, PlaybackProblem, problemOf, problemOfStatus } from './problems.js';

// Shaka Player plays clear and encrypted streams (cbcs in fMP4). It fetches the key by a request of type KEY, reads the
// key id from the init segment, and passes both to the browser's ClearKey.

/**
 * @typedef {object} Quality
 * @property {string} id
 * @property {number | null} width
 * @property {number | null} height null: audio alone
 * @property {number} bandwidth bits a second
 * @property {boolean} isActive
 */

/**
 * An audio track or captions.
 *
 * @typedef {object} Track
 * @property {string} id
 * @property {string} language
 * @property {string | null} label
 * @property {boolean} isActive
 */

/**
 * @typedef {object} StreamInput
 * @property {() => import('./problems.js').Asked} choice the stream, with its newest token and ticket
 * @property {() => void} onChange tracks have changed
 * @property {(problem: PlaybackProblem) => void} onProblem a failure after loading
 */

/** @typedef {ReturnType<typeof createStreamPlayer>} StreamPlayer */

const changes = ['trackschanged', 'adaptation', 'variantchanged', 'audiotrackschanged', 'textchanged'];

/** @param {import('shaka-player').default.extern.VideoTrack} track */
const idOf = ({ height, bandwidth }) => `${height}-${bandwidth}`;

/**
 * A player of one stream in `video`. `load` throws; `resume` loads again what has failed, in place.
 *
 * @param {HTMLVideoElement} video
 * @param {StreamInput} input
 */
export function createStreamPlayer(video, { choice, onChange, onProblem }) {
  const { hash } = choice();
  shaka.polyfill.installAll();
  const player = new shaka.Player();
  // With HLS, Shaka Player shows no captions until it appends a video segment after their choice, and there is none
  // when the rest of the video is loaded already. So it begins with captions, which `load` hides.
  player.configure('preferredText', [{ language: navigator.language || 'en' }]);
  // It measures nothing, so its estimate of the network stays the guess with which the player's begins.
  const unmeasured = new shaka.abr.SimpleAbrManager();
  unmeasured.configure(player.getConfiguration().abr);
  let isEncrypted = false;
  /**
   * The height of the quality that the viewer chose, left while it cannot be played; null: automatic.
   *
   * @type {number | null}
   */
  let chosenHeight = null;
  /** @param {unknown} error */
  const toProblem = (error) => problemOfShaka(error, choice());

  const networking = player.getNetworkingEngine();
  networking?.registerRequestFilter((type, request) => {
    const isKey = type === shaka.net.NetworkingEngine.RequestType.KEY;
    request.uris = request.uris.map((uri) => withTicket(uri, choice()));
    if (!isKey || kindOfAddress(request.uris[0] ?? '', hash) !== 'key') return;
    isEncrypted = true;
    // The token goes only to the host that served this page, whichever host the playlist names.
    request.uris = [keyAddress(hash)];
    const { token } = choice();
    // The server would refuse it: whoever has a token is asked first.
    if (token === '') throw problemOfStatus('key', 401, choice());
    request.headers['Authorization'] = `Bearer ${token}`;
  });
  // A deleted stream ends at once, not after further tries.
  networking?.addEventListener('retry', (event) => {
    const error = detailOf(event, 'error');
    if (statusOf(error) === 410) onProblem(toProblem(error));
  });
  player.addEventListener('error', (event) => {
    const error = detailOf(event, 'detail');
    if (!isShakaError(error) || error.severity !== shaka.util.Error.Severity.CRITICAL) return;
    const uri = String(error.data[0]);
    // It was requested before there was a newer ticket.
    if (statusOf(error) === 403 && withTicket(uri, choice()) !== uri) player.retryStreaming();
    else onProblem(toProblem(error));
  });
  for (const name of [...changes, 'texttrackvisibility']) player.addEventListener(name, () => onChange());

  return {
    /** @param {number} [startSec] */
    async load(startSec) {
      try {
        await player.attach(video);
        await player.load(streamAddress(choice(), 'master.m3u8'), startSec);
        player.selectTextTrack(null);
      } catch (error) {
        throw toProblem(error);
      }
    },
    /** @returns {Quality[]} the best first */
    qualities: () =>
      player
        .getVideoTracks()
        .map((track) => ({ ...track, id: idOf(track), isActive: track.active }))
        .toSorted((a, b) => b.bandwidth - a.bandwidth),
    isAutomatic: () => player.getConfiguration().abr.enabled,
    chosenHeight: () => chosenHeight,
    /** @param {string} id of a quality, or `auto` */
    selectQuality(id) {
      player.configure('abr.enabled', id === 'auto');
      const track = player.getVideoTracks().find((each) => idOf(each) === id);
      if (track) player.selectVideoTrack(track, true, 2);
      chosenHeight = track?.height ?? null;
    },
    /** @returns {Track[]} */
    audioTracks: () =>
      player
        .getAudioTracks()
        .map(({ language, label, active }, index) => ({ id: String(index), language, label, isActive: active })),
    /** @param {string} id */
    selectAudio(id) {
      const track = player.getAudioTracks()[Number(id)];
      if (track) player.selectAudioTrack(track, 1);
    },
    /** @returns {Track[]} */
    textTracks: () =>
      player
        .getTextTracks()
        .map(({ id, language, label, active }) => ({ id: String(id), language, label, isActive: active })),
    /** @param {string} id of captions, or `off` */
    selectText(id) {
      player.selectTextTrack(player.getTextTracks().find((track) => String(track.id) === id) ?? null);
      onChange();
    },
    figures() {
      const { streamBandwidth, estimatedBandwidth } = player.getStats();
      return { bitrate: streamBandwidth, network: estimatedBandwidth, encryption: isEncrypted ? 'cbcs' : 'none' };
    },
    /** How much arrives of what is needed, and whether a lower quality may follow. */
    line() {
      const { streamBandwidth, estimatedBandwidth } = player.getStats();
      const speed = estimatedBandwidth === unmeasured.getBandwidthEstimate() ? 0 : estimatedBandwidth;
      const [lowest] = player.getVideoTracks().toSorted((a, b) => a.bandwidth - b.bandwidth);
      const isLowest = lowest === undefined || lowest.active;
      /** @type {import('./wait.js').Line['quality']} */
      const quality = isLowest ? 'lowest' : player.getConfiguration().abr.enabled ? 'automatic' : 'chosen';
      return { speed, needed: streamBandwidth, quality };
    },
    resume: () => player.retryStreaming(),
    destroy() {
      unmeasured.release();
      return player.destroy();
    },
  };
}

/**
 * The detail of an event of Shaka Player.
 *
 * @param {Event} event
 * @param {'detail' | 'error'} field
 * @returns {unknown}
 */
const detailOf = (event, field) => Object.entries(event).find(([name]) => name === field)?.[1];

/**
 * @param {unknown} error
 * @returns {error is InstanceType<typeof shaka.util.Error>}
 */
const isShakaError = (error) => error instanceof shaka.util.Error;

/**
 * The status of the answer that an error is about; 0 where there was none.
 *
 * @param {unknown} error
 * @returns {number}
 */
function statusOf(error) {
  if (!isShakaError(error) || error.code !== shaka.util.Error.Code.BAD_HTTP_STATUS) return 0;
  return Number(error.data[1]);
}

/**
 * The code of a refusal (RFC 9457); '' where it has none.
 *
 * @param {unknown} body
 * @returns {string}
 */
function detailIn(body) {
  try {
    return String(JSON.parse(String(body)).detail ?? '');
  } catch {
    return '';
  }
}

/**
 * @param {unknown} error
 * @param {import('./problems.js').Asked} asked
 */
function problemOfShaka(error, asked) {
  if (!isShakaError(error)) return problemOf(error);
  const { Category, Code } = shaka.util.Error;
  const [thrown] = error.data;
  if (error.code === Code.REQUEST_FILTER_ERROR && thrown instanceof PlaybackProblem) return thrown;
  if ([Code.BAD_HTTP_STATUS, Code.HTTP_ERROR, Code.TIMEOUT].includes(error.code))
    return problemOfStatus(
      kindOfAddress(String(error.data[0]), asked.hash),
      statusOf(error),
      asked,
      detailIn(error.data[2]),
    );
  if (error.category === Category.DRM && !window.isSecureContext) return insecureContextProblem();
  return new PlaybackProblem({
    kind: `shaka-${error.code}`,
    title: 'The stream does not play',
    text: `Shaka Player reports error ${error.code}.`,
    actions: ['retry'],
  });
}
