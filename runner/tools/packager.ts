import type { AudioRole } from '#domain/media/audio-plan.ts';
import type { Grid } from '#domain/media/grid.ts';
import { framesSec } from '#domain/media/grid.ts';
import { dashManifestPath, type TrackKind, trackPaths } from '#domain/media/revision-layout.ts';
import type { ContentKey } from '#domain/playback/content-key.ts';
import type { Command } from '#platform/commands/command.ts';

/** Shaka Packager: fragmented MP4 in, CMAF with HLS and DASH out. */

/** A track of a stream as the packager gets it. */
export interface PackagedTrack {
  readonly kind: TrackKind;
  readonly id: string;
  readonly input: string;
  /** RFC 5646; null where the source states none. */
  readonly language: string | null;
  /** The purpose of a track of audio or text, by the names of DASH. */
  readonly role: AudioRole | 'forced-subtitle' | 'caption' | 'subtitle' | null;
}

interface Packaging {
  readonly tracks: readonly PackagedTrack[];
  /** The folder to write to, relative to the workspace. */
  readonly output: string;
  readonly grid: Grid;
  readonly encryption: { readonly contentKey: ContentKey; readonly keyEndpoint: string } | null;
  /** For one chunk of a stream: the number of its first segment, and the IV (hex) that all chunks share. */
  readonly chunk?: { readonly firstSegment: number; readonly iv: string };
}

/** The packager's own master playlist; only its codec strings are used. */
export const packagerMaster = 'packager-master.m3u8';

/**
 * The packager multiplies seconds by a track's timescale and drops the fraction. A length without an exact binary form
 * could lose a tick that way; this addition prevents it and is smaller than a tick.
 */
const roundingMarginSec = 1e-7;

/**
 * Packages the tracks in the layout of a revision, segments and fragments on the grid.
 *
 * A fragment is a GOP, since the I-frame playlist names the first key frame of each fragment. The key is an argument
 * and never in a file; the command names it as a secret.
 */
export function packageCommand(program: string, { tracks, output, grid, encryption, chunk }: Packaging): Command {
  const seconds = (frames: number) => (framesSec(frames, grid.rate) + roundingMarginSec).toFixed(8);
  const key = encryption?.contentKey.key.toString('hex');
  return {
    program,
    args: [
      ...tracks.map((track) => descriptorOf(track, output)),
      '--segment_duration',
      seconds(grid.segmentFrames),
      '--fragment_duration',
      seconds(grid.gopFrames),
      ...(encryption === null || key === undefined
        ? []
        : [
            '--enable_raw_key_encryption',
            '--keys',
            `label=:key_id=${encryption.contentKey.kid}:key=${key}`,
            '--protection_scheme',
            'cbcs',
            '--clear_lead',
            '0',
            '--hls_key_uri',
            encryption.keyEndpoint,
            ...(chunk === undefined ? [] : ['--iv', chunk.iv]),
          ]),
      ...(chunk === undefined ? [] : ['--start_segment_number', String(chunk.firstSegment)]),
      // Memory for each open file; 32 MiB by default, which is slow at its first use. Never 0: without threads for
      // files the packager may miss the end of a short track and wait for ever (8 of 300 runs).
      '--io_cache_size',
      '1048576',
      '--hls_playlist_type',
      'VOD',
      '--hls_master_playlist_output',
      `${output}/${packagerMaster}`,
      '--mpd_output',
      `${output}/${dashManifestPath}`,
      '--generate_static_live_mpd',
    ],
    ...(key === undefined ? {} : { secrets: [key] }),
  };
}

function descriptorOf({ kind, id, input, language, role }: PackagedTrack, output: string): string {
  const { init, segmentTemplate, playlist, iframePlaylist } = trackPaths(kind, id);
  return [
    `in=${input}`,
    `stream=${kind}`,
    ...(kind === 'text' ? [] : [`init_segment=${output}/${init}`]),
    `segment_template=${output}/${segmentTemplate}`,
    `playlist_name=${playlist}`,
    ...(iframePlaylist === null ? [] : [`iframe_playlist_name=${iframePlaylist}`]),
    ...(kind === 'video' ? [] : [`hls_group_id=${kind}`, `hls_name=${id}`]),
    ...(language === null ? [] : [`language=${language}`]),
    ...(role === null ? [] : [`dash_roles=${role}`]),
  ].join(',');
}
