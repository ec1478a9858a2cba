// Where playback was and what was chosen, for a player that takes over from another one.

const isSame = (a, b) => a.language === b.language && a.label === b.label;

/** Whether playback was paused, but by a media error: that pauses too, in Chromium before its event. */
export function watchPauses(video) {
  let wasPaused = false;
  video.addEventListener('play', () => (wasPaused = false));
  video.addEventListener('pause', () => (wasPaused ||= video.error === null));
  return () => (video.error === null ? video.paused : wasPaused);
}

/** @returns what `restoreTracks` takes, with the position */
export function captureState(video, engine, { hash, isPaused }) {
  return {
    hash,
    time: video.currentTime,
    isPaused,
    height: engine.chosenHeight(),
    audio: engine.audioTracks().find(({ isActive }) => isActive),
    text: engine.textTracks().find(({ isActive }) => isActive),
  };
}

/**
 * Chooses the same tracks in `engine`, which has loaded. Ids are of one player, so tracks are found by what they are.
 */
export function restoreTracks(engine, { height, audio, text }) {
  const quality = height === null ? undefined : engine.qualities().find((each) => each.height === height);
  if (quality) engine.selectQuality(quality.id);
  const heard = audio && engine.audioTracks().find((track) => isSame(track, audio));
  if (heard && !heard.isActive) engine.selectAudio(heard.id);
  const read = text && engine.textTracks().find((track) => isSame(track, text));
  if (read) engine.selectText(read.id);
}
