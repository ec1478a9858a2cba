// The player page in a frame of another page (`#embedded=1`): it reports what happens to that page, and takes its
// commands. element.js is the other end. Nothing that is reported holds a token or a key.

/** What both ends name their messages. */
const channel = 'reelwright-player';
const reportedEvents = ['loadedmetadata', 'durationchange', 'play', 'playing', 'pause', 'waiting', 'seeked', 'ended'];
const timeStepMs = 250;
/** A page around that has no answer by then has none: the player shows why the stream does not play. */
const answerMs = 15_000;

/**
 * @typedef {object} EmbeddingInput
 * @property {() => boolean} isEmbedded
 * @property {(token: string, hash: string | undefined) => void} takeToken is called with a playback token that replaces
 *   the one of the address, and the hash that it is for
 */

/**
 * What the page around may say: a command and its values, of any kind.
 *
 * @typedef {{command: string, token?: unknown, hash?: unknown, time?: unknown, volume?: unknown, muted?: unknown}} Command
 */

/**
 * @param {HTMLVideoElement} video
 * @param {EmbeddingInput} input
 */
export function createEmbedding(video, { isEmbedded, takeToken }) {
  let asked = { hash: '', atMs: Number.NEGATIVE_INFINITY };
  const report = createReports(video, isEmbedded);
  const commands = createCommands(video, { takeToken, report });
  window.addEventListener('message', ({ source, data }) => {
    if (!isEmbedded() || source !== window.parent || data?.channel !== channel) return;
    commands.get(data.command)?.(data);
  });

  return {
    report,
    /**
     * Asks the page around for a token that is missing, expired or refused; a second refusal of a stream in a minute is
     * shown. `giveUp` is called later, when there may be an answer already.
     *
     * @param {{kind: string}} problem
     * @param {string} hash
     * @param {() => void} giveUp
     * @returns {boolean} whether the page around was asked
     */
    askForToken({ kind }, hash, giveUp) {
      const isAsked = asked.hash === hash && performance.now() - asked.atMs < 60_000;
      if (!isEmbedded() || !['key-401', 'key-403'].includes(kind) || isAsked) return false;
      asked = { hash, atMs: performance.now() };
      report('tokenneeded', { kind });
      setTimeout(() => giveUp(), answerMs);
      return true;
    },
  };
}

/** @typedef {ReturnType<typeof createReports>} Report */

/**
 * @param {HTMLVideoElement} video
 * @param {() => boolean} isEmbedded
 */
function createReports(video, isEmbedded) {
  const stateOf = () => ({
    currentTime: video.currentTime,
    duration: Number.isFinite(video.duration) ? video.duration : 0,
    paused: video.paused,
    volume: video.volume,
    muted: video.muted,
    playbackRate: video.playbackRate,
  });
  /**
   * @param {string} name
   * @param {object} [detail]
   */
  const report = (name, detail = {}) => {
    if (!isEmbedded() || window.parent === window) return;
    // The page around may be of any origin: it chose the stream, and may have what is reported.
    window.parent.postMessage({ channel, name, state: stateOf(), detail }, '*');
  };
  for (const name of [...reportedEvents, 'volumechange', 'ratechange'])
    video.addEventListener(name, () => report(name));
  let reportedAtMs = 0;
  video.addEventListener('timeupdate', () => {
    if (performance.now() - reportedAtMs < timeStepMs) return;
    reportedAtMs = performance.now();
    report('timeupdate');
  });
  return report;
}

/**
 * @param {HTMLVideoElement} video
 * @param {Pick<EmbeddingInput, 'takeToken'> & {report: Report}} parts
 * @returns {Map<string, (command: Command) => void>}
 */
function createCommands(video, { takeToken, report }) {
  /** @param {unknown} error */
  const reportBlocked = (error) => {
    // A pause ends the play that it interrupts with another error.
    if (error instanceof Error && error.name === 'NotAllowedError') report('playblocked');
  };
  /** @type {Record<string, (command: Command) => void>} */
  const commands = {
    token({ token, hash }) {
      if (typeof token === 'string') takeToken(token, typeof hash === 'string' ? hash : undefined);
    },
    play: () => void video.play().catch(reportBlocked),
    pause: () => video.pause(),
    seek({ time }) {
      if (typeof time === 'number' && Number.isFinite(time)) video.currentTime = time;
    },
    volume({ volume }) {
      if (typeof volume === 'number' && volume >= 0 && volume <= 1) video.volume = volume;
    },
    mute: ({ muted }) => (video.muted = muted === true),
  };
  return new Map(Object.entries(commands));
}
