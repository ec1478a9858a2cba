import { keyAddress, kindOfAddress, masterAddress } from './addresses.js';
import { insecureContextProblem, PlaybackProblem, problemOfStatus } from './problems.js';

// Shaka Player plays clear and encrypted streams (cbcs in fMP4). It fetches the key by a request of type KEY, reads the
// key id from the init segment, and passes both to the browser's ClearKey.

/**
 * It calls `onChange` when tracks change, and `onProblem` for failures after loading; `load` throws. `resume()` loads
 * again what has failed, in place.
 */
export function createShakaEngine(video, { hash, currentToken, onChange, onProblem }) {
  const { shaka } = window;
  shaka.polyfill.installAll();
  const player = new shaka.Player();
  // With HLS, Shaka Player shows no captions until it appends a video segment after their choice, and there is none
  // when the rest of the video is loaded already. So it begins with captions, which `load` hides.
  player.configure('preferredText', [{ language: navigator.language || 'en' }]);
  let isEncrypted = false;
  /** Of the quality that the viewer chose, which the player leaves while it cannot be played; null: automatic. */
  let chosenHeight = null;

  const toProblem = (error) => {
    const { Category, Code } = shaka.util.Error;
    if ([Code.BAD_HTTP_STATUS, Code.HTTP_ERROR, Code.TIMEOUT].includes(error.code)) {
      const status = error.code === Code.BAD_HTTP_STATUS ? error.data[1] : 0;
      return problemOfStatus(kindOfAddress(error.data[0], hash), status, { hash, token: currentToken() });
    }
    if (error.category === Category.DRM && !window.isSecureContext) return insecureContextProblem();
    return new PlaybackProblem({
      kind: `shaka-${error.code ?? 'unknown'}`,
      title: 'The stream does not play',
      text: `Shaka Player reports error ${error.code ?? error}.`,
      actions: ['retry'],
    });
  };

  const networking = player.getNetworkingEngine();
  networking.registerRequestFilter((type, request) => {
    if (type !== shaka.net.NetworkingEngine.RequestType.KEY || kindOfAddress(request.uris[0], hash) !== 'key') return;
    isEncrypted = true;
    // The token goes only to the host that served this page, whichever host the playlist names.
    request.uris = [keyAddress(hash)];
    const token = currentToken();
    if (token !== '') request.headers['Authorization'] = `Bearer ${token}`;
  });
  // A deleted stream ends at once, not after further tries.
  networking.addEventListener('retry', ({ error }) => {
    if (error?.code === shaka.util.Error.Code.BAD_HTTP_STATUS && error.data[1] === 410) onProblem(toProblem(error));
  });
  player.addEventListener('error', ({ detail }) => {
    if (detail.severity === shaka.util.Error.Severity.CRITICAL) onProblem(toProblem(detail));
  });
  for (const name of [
    'trackschanged',
    'adaptation',
    'variantchanged',
    'audiotrackschanged',
    'textchanged',
    'texttrackvisibility',
  ])
    player.addEventListener(name, onChange);

  const selectQuality = (id) => {
    player.configure('abr.enabled', id === 'auto');
    const track = player.getVideoTracks().find(({ height, bandwidth }) => `${height}-${bandwidth}` === id);
    if (track) player.selectVideoTrack(track, true, 2);
    chosenHeight = track?.height ?? null;
  };

  return {
    async load(startSec) {
      try {
        await player.attach(video);
        await player.load(masterAddress(hash), startSec);
        player.selectTextTrack(null);
      } catch (error) {
        throw toProblem(error);
      }
    },
    qualities: () =>
      player
        .getVideoTracks()
        .map(({ width, height, bandwidth, active }) => ({
          id: `${height}-${bandwidth}`,
          width,
          height,
          bandwidth,
          isActive: active,
        }))
        .toSorted((a, b) => b.bandwidth - a.bandwidth),
    isAutomatic: () => player.getConfiguration().abr.enabled,
    chosenHeight: () => chosenHeight,
    selectQuality,
    audioTracks: () =>
      player.getAudioTracks().map(({ language, label, active }, index) => ({
        id: String(index),
        language,
        label,
        isActive: active,
      })),
    selectAudio(id) {
      const track = player.getAudioTracks()[Number(id)];
      if (track) player.selectAudioTrack(track, 1);
    },
    textTracks: () =>
      player.getTextTracks().map(({ id, language, label, active }) => ({
        id: String(id),
        language,
        label,
        isActive: active,
      })),
    selectText(id) {
      player.selectTextTrack(player.getTextTracks().find((track) => String(track.id) === id) ?? null);
      onChange();
    },
    figures() {
      const { streamBandwidth, estimatedBandwidth } = player.getStats();
      return { bitrate: streamBandwidth, network: estimatedBandwidth, encryption: isEncrypted ? 'cbcs' : 'none' };
    },
    resume: () => player.retryStreaming(),
    destroy: () => player.destroy(),
  };
}
