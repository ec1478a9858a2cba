import { parse } from 'mpd-parser';
import { fetchObject, fetchPlaylist } from './served-stream.ts';

// A stream as parsers that are not ours read it: video.js's of HLS and of DASH.

/** A track as a manifest describes it. Times in seconds. */
export interface ListedTrack {
  readonly codecs: string | null;
  readonly init: string | null;
  readonly segments: readonly { readonly url: string; readonly durationSec: number; readonly startSec: number }[];
}

/** `video/r180_av1`: the folder of a track, which both manifests name. */
function folderOf(url: string): string {
  return /(?:video|audio|text)\/[^/]+(?=\/[^/]+$)/.exec(new URL(url).pathname)?.[0] ?? url;
}

/** The tracks of a master playlist by their folders, and the playlists. @throws Error where one leads nowhere */
export async function readHls(masterUrl: string) {
  const master = await fetchPlaylist(masterUrl);
  const { playlists, mediaGroups } = master.manifest;
  const renditions = [mediaGroups.AUDIO, mediaGroups.SUBTITLES].flatMap((groups) =>
    Object.values(groups).flatMap((group) => Object.values(group).map(({ uri }) => ({ uri, codecs: null }))),
  );
  // The variant of audio alone names a playlist that is among the renditions.
  const withVideo = playlists.filter(({ attributes }) => 'VIDEO-RANGE' in attributes);
  const variants = withVideo.map(({ uri, attributes }) => ({ uri, codecs: attributes.CODECS.split(',')[0] ?? '' }));
  const tracks = new Map<string, ListedTrack>();
  const media = new Map<string, Awaited<ReturnType<typeof fetchPlaylist>>>();
  for (const { uri, codecs } of [...variants, ...renditions]) {
    const url = new URL(uri, masterUrl).href;
    const playlist = await fetchPlaylist(url);
    const { segments } = playlist.manifest;
    let startSec = 0;
    const listed = segments.map(({ uri: name, duration }) => {
      startSec += duration;
      return { url: new URL(name, url).href, durationSec: duration, startSec: startSec - duration };
    });
    const map = segments[0]?.map?.uri;
    const init = map === undefined ? null : new URL(map, url).href;
    tracks.set(folderOf(url), { codecs, init, segments: listed });
    media.set(folderOf(url), playlist);
  }
  return { master, tracks, media };
}

/** The tracks of a DASH manifest by their folders, its length in seconds, and what the parser warned of. */
export async function readDash(address: string) {
  const response = await fetch(address);
  const text = await response.text();
  const warnings: string[] = [];
  const { duration, playlists, mediaGroups } = parse(text, {
    manifestUri: response.url,
    eventHandler: ({ message }) => warnings.push(message),
  });
  const groups = [mediaGroups.AUDIO, mediaGroups.SUBTITLES].flatMap((kind) =>
    Object.values(kind).flatMap((group) => Object.values(group).flatMap((track) => track.playlists)),
  );
  const tracks = new Map<string, ListedTrack>();
  for (const { attributes, segments } of [...playlists, ...groups]) {
    const listed = segments.map((segment) => ({
      url: segment.resolvedUri,
      durationSec: segment.duration,
      startSec: segment.presentationTime,
    }));
    const init = segments[0]?.map?.resolvedUri ?? null;
    tracks.set(folderOf(listed[0]?.url ?? address), { codecs: attributes.CODECS ?? null, init, segments: listed });
  }
  return { text, durationSec: duration, tracks, warnings };
}

/** The bytes of an object. @throws Error when it is not there */
export async function bytesAt(url: string): Promise<Buffer> {
  const { status, bytes } = await fetchObject(url);
  if (status !== 200) throw new Error(`${url}: ${status}`);
  return bytes;
}
