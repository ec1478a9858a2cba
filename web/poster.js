import { loadImage } from './side-files.js';

// The poster of a stream without a cover: a tile of its storyboard. Films often begin in black, so the first tile that
// shows something is taken.

/** So many tiles are looked at. */
const tilesMax = 8;
/** Brightness of pixels (0 to 255) that differs less than this from their mean, on average, shows nothing. */
const contrastMin = 6;

/**
 * Shows the poster until the stream plays. A tile of the time at which it begins is the frame that the video shows as
 * soon as it is loaded, and sharper: that one is shown until then.
 *
 * @param {HTMLVideoElement} video
 * @param {Pick<import('./side-files.js').SideFiles, 'tileAt'>} storyboard
 * @param {{fromSec: number, isCurrent: () => boolean}} playback
 */
export async function showPoster(video, storyboard, { fromSec, isCurrent }) {
  let time = fromSec;
  for (let index = 0; index < tilesMax; index += 1) {
    const tile = await storyboard.tileAt(time);
    if (tile === null) return;
    const picture = await pictureOf(tile);
    if (!isCurrent() || !video.paused) return;
    if (picture !== null) {
      const isFirstFrame = index === 0;
      if (isFirstFrame && video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) return;
      video.poster = picture;
      if (isFirstFrame) video.addEventListener('loadeddata', () => removePoster(video, picture), { once: true });
      return;
    }
    if (tile.to <= time) return;
    time = tile.to;
  }
}

/**
 * @param {HTMLVideoElement} video
 * @param {string} picture another stream may have another one meanwhile
 */
function removePoster(video, picture) {
  if (video.poster === picture) video.removeAttribute('poster');
}

/**
 * A tile as an image; null where it shows nothing.
 *
 * @param {import('./side-files.js').Tile} tile
 */
async function pictureOf({ uri, positionX, positionY, width, height }) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (context === null) return null;
  context.drawImage(await loadImage(uri), positionX, positionY, width, height, 0, 0, width, height);
  const isEmpty = contrastOf(context.getImageData(0, 0, width, height).data) < contrastMin;
  return isEmpty ? null : canvas.toDataURL('image/jpeg', 0.9);
}

/**
 * The mean difference of pixels from their mean.
 *
 * @param {ArrayLike<number>} pixels red, green, blue and opacity of each
 */
function contrastOf(pixels) {
  const greens = Array.from({ length: pixels.length / 4 }, (_, index) => pixels[4 * index + 1] ?? 0);
  const mean = greens.reduce((sum, green) => sum + green, 0) / greens.length;
  return greens.reduce((sum, green) => sum + Math.abs(green - mean), 0) / greens.length;
}
