// Where playback was and what was chosen, for a player that takes over from another one.

/**
 * @typedef {import('./stream-player.js').StreamPlayer} StreamPlayer
 * @typedef {import('./stream-player.js').Track} Track
 * @typedef {ReturnType<typeof captureState>} PlaybackState
 */

/**
 * @param {Track} a
 * @param {Track} b
 */
const isSame = (a, b) => a.language === b.language && a.label === b.label;

/**
 * Whether playback was paused, but by a media error: that pauses too, in Chromium before its event.
 *
 * @param {HTMLVideoElement} video
 */
export function watchPauses(video) {
  let wasPaused = false;
  video.addEventListener('play', () => (wasPaused = false));
  video.addEventListener('pause', () => (wasPaused ||= video.error === null));
  return () => (video.error === null ? video.paused : wasPaused);
}

/**
 * The tracks that `restoreTracks` takes, with the position.
 *
 * @param {HTMLVideoElement} video
 * @param {StreamPlayer} player
 * @param {{hash: string, isPaused: boolean}} playback
 */
export function captureState(video, player, { hash, isPaused }) {
  return {
    hash,
    time: video.currentTime,
    isPaused,
    height: player.chosenHeight(),
    audio: player.audioTracks().find(({ isActive }) => isActive),
    text: player.textTracks().find(({ isActive }) => isActive),
  };
}

/**
 * Chooses the same tracks in a player that has loaded. Ids are of one player, so tracks are found by what they are.
 *
 * @param {StreamPlayer} player
 * @param {PlaybackState} state
 */
export function restoreTracks(player, { height, audio, text }) {
  const quality = height === null ? undefined : player.qualities().find((each) => each.height === height);
  if (quality) player.selectQuality(quality.id);
  const heard = audio && player.audioTracks().find((track) => isSame(track, audio));
  if (heard && !heard.isActive) player.selectAudio(heard.id);
  const read = text && player.textTracks().find((track) => isSame(track, text));
  if (read) player.selectText(read.id);
}
