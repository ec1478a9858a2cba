import { isKeyAddress, masterAddress } from './addresses.js';
import { PlaybackProblem, problemOfStatus } from './problems.js';

// hls.js, for clear streams: it knows identity keys in MPEG-TS alone, not in fMP4 (video-dev/hls.js#2934). It never gets
// the token.

/** @returns an engine as described at `engines` in page.js */
export function createHlsEngine(video, { hash, token, onChange, onProblem }) {
  const { Hls } = window;
  const hls = new Hls({ enableWorker: true });

  const encrypted = new PlaybackProblem({
    kind: 'hls-encrypted',
    title: 'hls.js cannot play this stream',
    text: 'It is encrypted in a way that hls.js does not know. Choose Shaka Player below.',
  });
  const toProblem = (data) => {
    if (data.type === Hls.ErrorTypes.NETWORK_ERROR && !data.details.startsWith('key')) {
      const isKey = isKeyAddress(data.url ?? data.frag?.url ?? masterAddress(hash), hash);
      return isKey ? encrypted : problemOfStatus('stream', data.response?.code ?? 0, { hash, token });
    }
    if (data.type === Hls.ErrorTypes.KEY_SYSTEM_ERROR || data.details.startsWith('key')) return encrypted;
    return new PlaybackProblem({
      kind: 'hls-error',
      title: 'The stream does not play',
      text: `hls.js reports ${data.details}.`,
    });
  };

  for (const name of [Hls.Events.LEVEL_SWITCHED, Hls.Events.AUDIO_TRACK_SWITCHED, Hls.Events.AUDIO_TRACKS_UPDATED])
    hls.on(name, onChange);

  const load = () =>
    new Promise((resolve, reject) => {
      let isLoaded = false;
      hls.on(Hls.Events.ERROR, (_event, data) => {
        if (!data.fatal) return;
        if (isLoaded) onProblem(toProblem(data));
        else reject(toProblem(data));
      });
      hls.on(Hls.Events.LEVEL_LOADED, (_event, { details }) => {
        if (details.fragments.some(({ decryptdata }) => (decryptdata?.method ?? 'NONE') !== 'NONE')) reject(encrypted);
      });
      hls.on(Hls.Events.FRAG_BUFFERED, () => {
        isLoaded = true;
        resolve();
      });
      hls.loadSource(masterAddress(hash));
      hls.attachMedia(video);
    });

  return {
    name: 'hls',
    load,
    qualities: () =>
      hls.levels
        .map(({ height, bitrate }, index) => ({
          id: String(index),
          height,
          bandwidth: bitrate,
          isActive: index === hls.currentLevel,
        }))
        .toSorted((a, b) => b.bandwidth - a.bandwidth),
    isAutomatic: () => hls.autoLevelEnabled,
    selectQuality(id) {
      // A chosen level is shown at once; the automatic choice begins with the next segment.
      if (id === 'auto') hls.loadLevel = -1;
      else hls.currentLevel = Number(id);
    },
    audioTracks: () =>
      hls.audioTracks.map(({ lang, name }, index) => ({
        id: String(index),
        language: lang ?? '',
        label: name,
        isActive: index === hls.audioTrack,
      })),
    selectAudio(id) {
      hls.audioTrack = Number(id);
    },
    figures: () => ({
      bitrate: hls.levels[hls.currentLevel]?.bitrate,
      network: hls.bandwidthEstimate,
      encryption: 'none',
    }),
    pictureAt: () => Promise.resolve(null),
    destroy() {
      hls.destroy();
      return Promise.resolve();
    },
  };
}
