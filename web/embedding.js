// The player page in a frame of another page (`#embedded=1`): it reports what happens to that page, and takes its
// commands. element.js is the other end. Nothing that is reported holds a token or a key.

/** What both ends name their messages. */
const channel = 'reelwright-player';
const reportedEvents = ['loadedmetadata', 'durationchange', 'play', 'playing', 'pause', 'waiting', 'seeked', 'ended'];
const timeStepMs = 250;
/** A page around that has no answer by then has none: the player shows why the stream does not play. */
const answerMs = 15_000;

/**
 * @param video the media element
 * @param takeToken is called with a playback token that replaces the one of the address, and the hash that it is for
 * @returns `report(name, detail)`, and `askForToken(problem, hash, giveUp)`, which is whether the page around was asked
 * for one; `giveUp` is called later, when there may be an answer already
 */
export function createEmbedding(video, { isEmbedded, takeToken }) {
  let asked = { hash: '', atMs: Number.NEGATIVE_INFINITY };
  const stateOf = () => ({
    currentTime: video.currentTime,
    duration: Number.isFinite(video.duration) ? video.duration : 0,
    paused: video.paused,
    volume: video.volume,
    muted: video.muted,
    playbackRate: video.playbackRate,
  });
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

  const commands = {
    token: ({ token, hash }) => typeof token === 'string' && takeToken(token, hash),
    // A pause ends the play that it interrupts with another error.
    play: () => void video.play().catch(({ name }) => name === 'NotAllowedError' && report('playblocked')),
    pause: () => video.pause(),
    seek: ({ time }) => Number.isFinite(time) && (video.currentTime = time),
    volume: ({ volume }) => volume >= 0 && volume <= 1 && (video.volume = volume),
    mute: ({ muted }) => (video.muted = muted === true),
  };
  window.addEventListener('message', ({ source, data }) => {
    if (!isEmbedded() || source !== window.parent || data?.channel !== channel) return;
    if (Object.hasOwn(commands, data.command)) commands[data.command](data);
  });

  return {
    report,
    /** Asks for a token that is missing, expired or refused; a second refusal of a stream in a minute is shown. */
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
