// The player page in a frame of another page (`#embedded=1`): it reports what happens to that page, and takes its
// commands. element.js is the other end. Nothing that is reported holds a token or a key.

/** The name of the messages at both ends. */
const channel = 'reelwright-player';
const reportedEvents = ['loadedmetadata', 'durationchange', 'play', 'playing', 'pause', 'waiting', 'seeked', 'ended'];
const timeStepMs = 250;
/** A page around that has no answer by then has none: the player shows why the stream does not play. */
const answerMs = 15_000;

/** @typedef {'token' | 'ticket'} Credential */

/**
 * @typedef {object} EmbeddingInput
 * @property {() => boolean} isEmbedded
 * @property {(name: Credential, value: string, hash: string | undefined) => void} take is called with a token or ticket
 *   that replaces the one of the address, and the hash that it is for
 */

/**
 * A message of the page around: a command and its values, of any kind.
 *
 * @typedef {{command: string, token?: unknown, ticket?: unknown, hash?: unknown, time?: unknown, volume?: unknown, muted?: unknown}} Command
 */

/**
 * @param {HTMLVideoElement} video
 * @param {EmbeddingInput} input
 */
export function createEmbedding(video, { isEmbedded, take }) {
  /**
   * When the page around was asked, by what for and the hash.
   *
   * @type {Map<string, number>}
   */
  const asked = new Map();
  const report = createReports(video, isEmbedded);
  /**
   * Ends the wait for an answer of the page around.
   *
   * @type {(() => void) | null}
   */
  let giveUpNow = null;
  const commands = createCommands(video, { take, report, giveUp: () => giveUpNow?.() });
  window.addEventListener('message', ({ source, data }) => {
    if (!isEmbedded() || source !== window.parent || data?.channel !== channel) return;
    commands.get(data.command)?.(data);
  });

  return {
    report,
    /**
     * Asks the page around for a token or ticket that is missing, expired or refused; a second refusal of a stream in a
     * minute is shown. `giveUp` is called later, when there may be an answer already.
     *
     * @param {{kind: string}} problem
     * @param {string} hash
     * @param {() => void} giveUp
     * @returns {boolean} whether the page around was asked
     */
    ask({ kind }, hash, giveUp) {
      const needed = neededFor(kind);
      const atMs = asked.get(`${needed} ${hash}`) ?? Number.NEGATIVE_INFINITY;
      if (!isEmbedded() || needed === null || performance.now() - atMs < 60_000) return false;
      asked.set(`${needed} ${hash}`, performance.now());
      report(`${needed}needed`, { kind });
      giveUpNow = giveUp;
      setTimeout(() => giveUp(), answerMs);
      return true;
    },
  };
}

/**
 * The advice against a problem.
 *
 * @param {string} kind
 * @returns {Credential | null}
 */
function neededFor(kind) {
  if (['key-401', 'key-403'].includes(kind)) return 'token';
  return kind.startsWith('ticket-') ? 'ticket' : null;
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
 * @param {Pick<EmbeddingInput, 'take'> & {report: Report, giveUp: () => void}} parts
 * @returns {Map<string, (command: Command) => void>}
 */
function createCommands(video, { take, report, giveUp }) {
  /** @param {unknown} error */
  const reportBlocked = (error) => {
    // A pause ends the play that it interrupts with another error.
    if (error instanceof Error && error.name === 'NotAllowedError') report('playblocked');
  };
  /**
   * @param {Credential} name
   * @param {Command} command
   */
  const takeFrom = (name, { hash, [name]: value }) => {
    if (value === '') giveUp();
    else if (typeof value === 'string') take(name, value, typeof hash === 'string' ? hash : undefined);
  };
  /** @type {Record<string, (command: Command) => void>} */
  const commands = {
    token: (command) => takeFrom('token', command),
    ticket: (command) => takeFrom('ticket', command),
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
