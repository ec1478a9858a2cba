import { elementOf } from './elements.js';
import { clockText } from './timeline.js';

// The tip over the seek bar: a frame of the time under the pointer, its chapter and its clock.

const stage = elementOf('stage', HTMLElement);
const screen = elementOf('screen', HTMLElement);
const seek = elementOf('seek', HTMLInputElement);
const tip = elementOf('scrub-tip', HTMLElement);
const frame = elementOf('scrub-frame', HTMLElement);
const titleLine = elementOf('scrub-title', HTMLElement);

/**
 * @typedef {object} ScrubPreview
 * @property {(time: number) => Promise<import('./side-files.js').Tile | null>} tileAt the storyboard tile at a time in
 *   seconds
 * @property {(time: number) => string} titleAt the chapter's title, or ''
 */

/**
 * @param {HTMLVideoElement} video
 * @param {ScrubPreview} preview
 */
export function wireScrubTip(video, { tileAt, titleAt }) {
  let lookups = 0;
  /** @param {number} pointerX */
  const show = async (pointerX) => {
    if (seek.disabled || !Number.isFinite(video.duration)) return;
    const { left, width } = seek.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (pointerX - left) / width));
    const time = share * video.duration;
    const title = titleAt(time);
    tip.hidden = false;
    titleLine.hidden = title === '';
    titleLine.textContent = title;
    elementOf('scrub-time', HTMLElement).textContent = clockText(time);
    placeTip(left + share * width);
    const lookup = (lookups += 1);
    const tile = await tileAt(time).catch(() => null);
    // The pointer has moved meanwhile.
    if (lookup !== lookups) return;
    frame.hidden = tile === null;
    if (tile !== null) showTile(tile);
    placeTip(left + share * width);
  };
  seek.addEventListener('pointermove', ({ clientX }) => void show(clientX));
  seek.addEventListener('pointerleave', () => {
    lookups += 1;
    tip.hidden = true;
    liftCaptions();
  });
}

/**
 * Centres the tip at `x` of the window, as far as it stays within the stage.
 *
 * @param {number} x
 */
function placeTip(x) {
  const margin = 4;
  const half = tip.offsetWidth / 2;
  const bounds = stage.getBoundingClientRect();
  const centre = Math.min(bounds.right - half - margin, Math.max(bounds.left + half + margin, x));
  tip.style.left = `${centre - (tip.parentElement ?? stage).getBoundingClientRect().left}px`;
  liftCaptions();
}

/** Lifts the captions, which browsers show at the lower edge of the video, above what lies over that edge. */
export function liftCaptions() {
  const { bottom } = screen.getBoundingClientRect();
  const isBarOver = document.fullscreenElement !== null || document.body.hasAttribute('data-embedded');
  const isBarShown = isBarOver && !('idle' in stage.dataset);
  const over = [...(tip.hidden ? [] : [tip]), ...(isBarShown ? [elementOf('controls', HTMLElement)] : [])];
  const lift = Math.max(0, ...over.map((each) => bottom - each.getBoundingClientRect().top));
  screen.style.setProperty('--lift', `${Math.round(lift)}px`);
}

/** @param {import('./side-files.js').Tile} tile */
function showTile({ uri, positionX, positionY, width, height, imageWidth, imageHeight }) {
  const scale = 160 / Math.max(width, height);
  Object.assign(frame.style, {
    width: `${width * scale}px`,
    height: `${height * scale}px`,
    backgroundImage: `url(${JSON.stringify(uri)})`,
    backgroundPosition: `${-positionX * scale}px ${-positionY * scale}px`,
    backgroundSize: `${imageWidth * scale}px ${imageHeight * scale}px`,
  });
}
