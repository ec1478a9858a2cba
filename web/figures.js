// The playback figures below the stage.

import { bufferedAhead } from './controls.js';
import { megabits } from './menus.js';

/** @param engine the engine that plays, or null */
export function showFigures(video, engine) {
  const figures = engine?.figures();
  const { totalVideoFrames = 0, droppedVideoFrames = 0 } = video.getVideoPlaybackQuality?.() ?? {};
  const texts = {
    'figure-size': video.videoWidth > 0 ? `${video.videoWidth} × ${video.videoHeight}` : '–',
    'figure-bitrate': megabits(figures?.bitrate),
    'figure-network': megabits(figures?.network),
    'figure-buffer': engine ? `${bufferedAhead(video).toFixed(1)} s` : '–',
    'figure-dropped': engine ? `${droppedVideoFrames} of ${totalVideoFrames}` : '–',
    'figure-encryption': figures?.encryption ?? '–',
  };
  for (const [id, text] of Object.entries(texts)) document.getElementById(id).textContent = text;
}
