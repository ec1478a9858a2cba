/** Paths of the objects of a video's revision, relative to `videos/<prefix>/<hash>/<rev>/`. */

export const masterPath = 'master.m3u8';
export const dashManifestPath = 'manifest.mpd';
export const coverPath = 'cover.jpg';

/** The animation of a `video:preview`. */
export function previewPath(format: 'webp' | 'gif'): string {
  return `preview.${format}`;
}

export type TrackKind = 'video' | 'audio';

/** Paths of one track's objects. */
export interface TrackPaths {
  readonly init: string;
  /** With `$Number$` in place of the segment's number, from 1. */
  readonly segmentTemplate: string;
  readonly playlist: string;
  /** The I-frame playlist; null for audio. */
  readonly iframePlaylist: string | null;
}

/** Where a track's objects are. */
export function trackPaths(kind: TrackKind, id: string): TrackPaths {
  const folder = `${kind}/${id}`;
  return {
    init: `${folder}/init.mp4`,
    segmentTemplate: `${folder}/seg_$Number$.m4s`,
    playlist: `${folder}/playlist.m3u8`,
    iframePlaylist: kind === 'video' ? iframePlaylistPath(id) : null,
  };
}

/** The I-frame playlist of a video track. */
export function iframePlaylistPath(videoTrackId: string): string {
  return `video/${videoTrackId}/iframes.m3u8`;
}
