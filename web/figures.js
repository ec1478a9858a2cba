// The playback figures below the stage.

import { elementOf } from './elements.js';
import { bufferedAhead } from './timeline.js';

/**
 * @param {number} [bitsPerSecond]
 * @returns {string} '–' for what is not known
 */
export function rateText(bitsPerSecond = 0) {
  if (!(bitsPerSecond > 0)) return '–';
  return bitsPerSecond < 999_500
    ? `${Math.round(bitsPerSecond / 1000)} kb/s`
    : `${(bitsPerSecond / 1e6).toFixed(1)} Mb/s`;
}

/**
 * @param {HTMLVideoElement} video
 * @param {import('./stream-player.js').StreamPlayer | null} player
 */
export function showFigures(video, player) {
  const figures = player?.figures();
  const { totalVideoFrames, droppedVideoFrames } = video.getVideoPlaybackQuality();
  const texts = {
    'figure-size': video.videoWidth > 0 ? `${video.videoWidth} × ${video.videoHeight}` : '–',
    'figure-bitrate': rateText(figures?.bitrate),
    'figure-network': rateText(figures?.network),
    'figure-buffer': player ? `${bufferedAhead(video).toFixed(1)} s` : '–',
    'figure-dropped': player ? `${droppedVideoFrames} of ${totalVideoFrames}` : '–',
    'figure-encryption': figures?.encryption ?? '–',
  };
  for (const [id, text] of Object.entries(texts)) elementOf(id, HTMLElement).textContent = text;
}
