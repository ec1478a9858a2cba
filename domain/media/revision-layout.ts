/** Paths of the objects of a video's revision, relative to `videos/<prefix>/<hash>/<rev>/`. */

export const masterPath = 'master.m3u8';
export const dashManifestPath = 'manifest.mpd';
/** The chapters of a video, as WebVTT. */
export const chaptersPath = 'chapters.vtt';
export const coverPath = 'cover.jpg';
/** The waveform of an audio-only source. */
export const waveformPath = 'waveform.webp';

/** The animation of a `video:preview`. */
export function previewPath(format: 'webp' | 'gif'): string {
  return `preview.${format}`;
}

/** The storyboard: its sheets, numbered from 1, and the playlist and cues that name them. */
export const storyboardPaths = {
  sheet: (number: number | string) => `storyboard/sheet_${number}.jpg`,
  playlist: 'storyboard/playlist.m3u8',
  cues: 'storyboard/cues.vtt',
} as const;

export type TrackKind = 'video' | 'audio' | 'text';

/** Paths of one track's objects. */
export interface TrackPaths {
  /** Text has none. */
  readonly init: string;
  /** With `$Number$` in place of the segment's number, from 1. */
  readonly segmentTemplate: string;
  readonly playlist: string;
  /** The I-frame playlist, of video alone. */
  readonly iframePlaylist: string | null;
  /** The track as one file, of text alone. */
  readonly whole: string | null;
}

/** Where a track's objects are. */
export function trackPaths(kind: TrackKind, id: string): TrackPaths {
  const folder = `${kind}/${id}`;
  return {
    init: `${folder}/init.mp4`,
    segmentTemplate: `${folder}/seg_$Number$.${kind === 'text' ? 'vtt' : 'm4s'}`,
    playlist: `${folder}/playlist.m3u8`,
    iframePlaylist: kind === 'video' ? iframePlaylistPath(id) : null,
    whole: kind === 'text' ? `${folder}/captions.vtt` : null,
  };
}

/** The I-frame playlist of a video track. */
export function iframePlaylistPath(videoTrackId: string): string {
  return `video/${videoTrackId}/iframes.m3u8`;
}
