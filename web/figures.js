// The playback figures below the stage.

import { elementOf } from './elements.js';
import { megabits } from './menus.js';
import { bufferedAhead } from './timeline.js';

/**
 * @param {HTMLVideoElement} video
 * @param {import('./stream-player.js').StreamPlayer | null} player
 */
export function showFigures(video, player) {
  const figures = player?.figures();
  const { totalVideoFrames, droppedVideoFrames } = video.getVideoPlaybackQuality();
  const texts = {
    'figure-size': video.videoWidth > 0 ? `${video.videoWidth} × ${video.videoHeight}` : '–',
    'figure-bitrate': megabits(figures?.bitrate),
    'figure-network': megabits(figures?.network),
    'figure-buffer': player ? `${bufferedAhead(video).toFixed(1)} s` : '–',
    'figure-dropped': player ? `${droppedVideoFrames} of ${totalVideoFrames}` : '–',
    'figure-encryption': figures?.encryption ?? '–',
  };
  for (const [id, text] of Object.entries(texts)) elementOf(id, HTMLElement).textContent = text;
}
