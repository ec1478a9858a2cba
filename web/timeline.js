// What the seek bar and the clocks show, without the page.

/** @param {number} seconds */
export function clockText(seconds) {
  const whole = Math.max(0, Math.floor(Number.isFinite(seconds) ? seconds : 0));
  const hours = Math.floor(whole / 3600);
  const [minutes, rest] = [Math.floor(whole / 60) % 60, String(whole % 60).padStart(2, '0')];
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}

/**
 * The end of what is buffered around the current position, in seconds; the position itself where nothing is.
 *
 * @param {Pick<HTMLMediaElement, 'buffered' | 'currentTime'>} video
 */
export function bufferedEnd({ buffered, currentTime }) {
  for (let index = 0; index < buffered.length; index += 1) {
    const isHere = buffered.start(index) <= currentTime + 0.1;
    if (isHere && buffered.end(index) >= currentTime) return buffered.end(index);
  }
  return currentTime;
}

/**
 * Seconds buffered after the current position.
 *
 * @param {Pick<HTMLMediaElement, 'buffered' | 'currentTime'>} video
 */
export const bufferedAhead = (video) => bufferedEnd(video) - video.currentTime;

/**
 * The seek bar while the stream plays, and while the viewer drags it: the bar and the clock are at the dragged place
 * then, and playback stays where it is.
 *
 * @param {Pick<HTMLMediaElement, 'buffered' | 'currentTime' | 'duration'>} video
 * @param {number | null} scrubTime the place that the viewer drags the bar to, in seconds; null when nobody does
 */
export function timelineOf(video, scrubTime) {
  const duration = Number.isFinite(video.duration) ? video.duration : 0;
  const shownTime = scrubTime ?? video.currentTime;
  /** @param {number} time */
  const percentOf = (time) => `${duration > 0 ? Math.min(100, (100 * time) / duration) : 0}%`;
  const total = clockText(Math.round(duration));
  return {
    max: String(duration),
    value: String(shownTime),
    played: percentOf(shownTime),
    buffered: percentOf(bufferedEnd(video)),
    now: clockText(shownTime),
    total,
    spoken: `${clockText(video.currentTime)} of ${total}`,
  };
}

/**
 * Where the chapters begin on the seek bar, but for those at its ends.
 *
 * @param {Pick<HTMLMediaElement, 'duration'>} video
 * @param {readonly {from: number}[]} chapters times in seconds
 */
export function marksOf({ duration }, chapters) {
  const within = chapters.filter(({ from }) => Number.isFinite(duration) && from > 0 && from < duration);
  return within.map(({ from }) => `${(100 * from) / duration}%`);
}
