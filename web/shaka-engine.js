import { isKeyAddress, keyAddress, masterAddress } from './addresses.js';
import { insecureContextProblem, PlaybackProblem, problemOfStatus } from './problems.js';

// Shaka Player plays clear and encrypted streams (cbcs with an identity key in fMP4). It fetches the key by a request of
// type KEY, reads the key id from the init segment, and passes both to the browser's ClearKey.

/** @returns an engine as described at `engines` in page.js */
export function createShakaEngine(video, { hash, token, onChange, onProblem }) {
  const { shaka } = window;
  shaka.polyfill.installAll();
  const player = new shaka.Player();
  let isEncrypted = false;

  const toProblem = (error) => {
    const { Category, Code } = shaka.util.Error;
    if (error.category === Category.NETWORK && [Code.BAD_HTTP_STATUS, Code.HTTP_ERROR].includes(error.code)) {
      const status = error.code === Code.BAD_HTTP_STATUS ? error.data[1] : 0;
      const isKey = isKeyAddress(error.data[0], hash);
      return problemOfStatus(isKey ? 'key' : 'stream', status, { hash, token });
    }
    if (error.category === Category.DRM && !window.isSecureContext) return insecureContextProblem();
    return new PlaybackProblem({
      kind: `shaka-${error.code ?? 'unknown'}`,
      title: 'The stream does not play',
      text: `Shaka Player reports error ${error.code ?? error}.`,
      actions: ['retry', 'other-player'],
    });
  };

  const networking = player.getNetworkingEngine();
  networking.registerRequestFilter((type, request) => {
    if (type !== shaka.net.NetworkingEngine.RequestType.KEY || !isKeyAddress(request.uris[0], hash)) return;
    isEncrypted = true;
    // The token goes only to the host that served this page, whichever host the playlist names.
    request.uris = [keyAddress(hash)];
    if (token !== '') request.headers['Authorization'] = `Bearer ${token}`;
  });
  player.addEventListener('error', ({ detail }) => {
    if (detail.severity === shaka.util.Error.Severity.CRITICAL) onProblem(toProblem(detail));
  });
  for (const name of ['trackschanged', 'adaptation', 'variantchanged', 'audiotrackschanged'])
    player.addEventListener(name, onChange);

  const selectQuality = (id) => {
    player.configure('abr.enabled', id === 'auto');
    const track = player.getVideoTracks().find(({ height, bandwidth }) => `${height}-${bandwidth}` === id);
    if (track) player.selectVideoTrack(track, true, 2);
  };

  return {
    name: 'shaka',
    async load() {
      try {
        await player.attach(video);
        await player.load(masterAddress(hash));
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
    figures() {
      const { streamBandwidth, estimatedBandwidth } = player.getStats();
      return { bitrate: streamBandwidth, network: estimatedBandwidth, encryption: isEncrypted ? 'cbcs' : 'none' };
    },
    /** The storyboard tile at a time, or null. */
    async pictureAt(time) {
      const [track] = player.getImageTracks();
      if (!track) return null;
      const tile = await player.getThumbnails(track.id, time);
      if (!tile?.uris[0]) return null;
      const { positionX, positionY, width, height, imageWidth, imageHeight } = tile;
      return { uri: tile.uris[0], positionX, positionY, width, height, imageWidth, imageHeight };
    },
    destroy: () => player.destroy(),
  };
}
