import { clearKeyAddress, kindOfAddress, masterAddress } from './addresses.js';
import { insecureContextProblem, PlaybackProblem, problemOfStatus } from './problems.js';

// hls.js plays clear and encrypted streams. It supports identity keys only in MPEG-TS (video-dev/hls.js#2934), but
// plays the same segments with a key of the ClearKey system: its loader renames the key format, and the key comes as a
// ClearKey licence from `/api/key/{hash}/clearkey` (docs/guides/players.md).

const idOf = ({ height, bitrate }) => `${height}-${bitrate}`;

/** @returns an engine as described at `engines` in page.js */
export function createHlsEngine(video, { hash, currentToken, onChange, onProblem }) {
  const { Hls } = window;
  let isEncrypted = false;

  class ClearKeyLoader extends Hls.DefaultConfig.loader {
    load(context, config, callbacks) {
      const onSuccess = (response, ...rest) => {
        if (typeof response.data === 'string')
          response.data = response.data.replaceAll('KEYFORMAT="identity"', 'KEYFORMAT="org.w3.clearkey"');
        callbacks.onSuccess(response, ...rest);
      };
      super.load(context, config, { ...callbacks, onSuccess });
    }
  }

  const hls = new Hls({
    enableWorker: true,
    pLoader: ClearKeyLoader,
    emeEnabled: true,
    preserveManualLevelOnError: true,
    // By default a small stream is loaded for ten minutes ahead, and its deletion is not heard of for as long.
    maxMaxBufferLength: 30,
    // The token goes only to the host that served this page, whichever host the playlist names.
    drmSystems: { 'org.w3.clearkey': { licenseUrl: clearKeyAddress(hash) } },
    licenseXhrSetup: (request) => {
      const token = currentToken();
      if (token !== '') request.setRequestHeader('Authorization', `Bearer ${token}`);
    },
  });

  const toProblem = (data) => {
    if (data.type === Hls.ErrorTypes.KEY_SYSTEM_ERROR) {
      if (!window.isSecureContext) return insecureContextProblem();
      if (data.details === Hls.ErrorDetails.KEY_SYSTEM_LICENSE_REQUEST_FAILED)
        return problemOfStatus('key', data.response?.code ?? 0, { hash, token: currentToken() });
    }
    if (data.type === Hls.ErrorTypes.NETWORK_ERROR) {
      const what = kindOfAddress(data.frag?.url ?? data.context?.url ?? data.url ?? masterAddress(hash), hash);
      return problemOfStatus(what, data.response?.code ?? 0, { hash, token: currentToken() });
    }
    return new PlaybackProblem({
      kind: 'hls-error',
      title: 'The stream does not play',
      text: `hls.js reports ${data.details}.`,
      actions: ['retry', 'other-player'],
    });
  };

  for (const name of [
    Hls.Events.LEVEL_SWITCHED,
    Hls.Events.AUDIO_TRACK_SWITCHED,
    Hls.Events.AUDIO_TRACKS_UPDATED,
    Hls.Events.SUBTITLE_TRACKS_UPDATED,
    Hls.Events.SUBTITLE_TRACK_SWITCH,
  ])
    hls.on(name, onChange);
  hls.on(Hls.Events.LEVEL_LOADED, (_event, { details }) => (isEncrypted ||= details.encryptedFragments.length > 0));

  const load = (startSec = -1) =>
    new Promise((resolve, reject) => {
      hls.config.startPosition = startSec;
      let isLoaded = false;
      hls.on(Hls.Events.ERROR, (_event, data) => {
        // Deleted media do not come back, though hls.js would play on what it has loaded.
        if (!data.fatal && data.response?.code !== 410) return;
        const problem = toProblem(data);
        if (isLoaded || problem.isPart) onProblem(problem);
        else reject(problem);
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
        .map((level, index) => ({
          id: idOf(level),
          width: level.width,
          height: level.height,
          bandwidth: level.bitrate,
          isActive: index === hls.currentLevel,
        }))
        .toSorted((a, b) => b.bandwidth - a.bandwidth),
    isAutomatic: () => hls.autoLevelEnabled,
    selectQuality(id) {
      // A chosen level is shown at once; the automatic choice begins with the next segment.
      if (id === 'auto') hls.loadLevel = -1;
      else hls.currentLevel = hls.levels.findIndex((level) => idOf(level) === id);
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
    textTracks: () =>
      hls.subtitleTracks.map(({ lang, name }, index) => ({
        id: String(index),
        language: lang ?? '',
        label: name,
        isActive: hls.subtitleDisplay && index === hls.subtitleTrack,
      })),
    selectText(id) {
      // The track stays chosen while it is hidden: a track that is taken away does not come back with its cues.
      hls.subtitleDisplay = id !== 'off';
      if (id !== 'off') hls.subtitleTrack = Number(id);
      onChange();
    },
    figures: () => ({
      bitrate: hls.levels[hls.currentLevel]?.bitrate,
      network: hls.bandwidthEstimate,
      encryption: isEncrypted ? 'cbcs' : 'none',
    }),
    resume() {
      // Each segment gets its tries again: without them, the first failure would stop the loading of all tracks.
      for (const level of hls.levels) level.fragmentError = 0;
      hls.startLoad();
    },
    destroy() {
      hls.destroy();
      return Promise.resolve();
    },
  };
}
