import type { Grid } from '#domain/media/grid.ts';
import { framesSec } from '#domain/media/grid.ts';
import type { ContentKey } from '#domain/playback/content-key.ts';
import type { Command } from '#platform/commands/command.ts';

/** Shaka Packager: fragmented MP4 in, CMAF with HLS and DASH out. */

interface PackagedTrack {
  readonly kind: 'video' | 'audio';
  readonly id: string;
  readonly input: string;
  /** RFC 5646; null where the source names none. */
  readonly language: string | null;
}

interface Packaging {
  readonly tracks: readonly PackagedTrack[];
  /** The folder to write to. */
  readonly output: string;
  readonly grid: Grid;
  readonly encryption: { readonly contentKey: ContentKey; readonly keyEndpoint: string } | null;
}

/** Where the packager puts its master playlist, which only its codec strings are read from. */
export const packagerMaster = 'packager-master.m3u8';

/**
 * The packager multiplies seconds by a track's timescale and cuts the fraction off; this much more keeps a length that
 * has no exact binary form from losing a tick, and is no tick by itself.
 */
const beyondRoundingSec = 1e-7;

/**
 * Packages the tracks as `<kind>/<id>/{init.mp4,seg_<n>.m4s,playlist.m3u8}`, segments and fragments on the grid.
 *
 * A fragment is a GOP, since the I-frame playlist names the first key frame of each fragment. The key goes in as an
 * argument and never into a file (section 1); the command names it as a secret.
 */
export function packageCommand(program: string, { tracks, output, grid, encryption }: Packaging): Command {
  const seconds = (frames: number) => (framesSec(frames, grid.rate) + beyondRoundingSec).toFixed(8);
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
          ]),
      '--hls_playlist_type',
      'VOD',
      '--hls_master_playlist_output',
      `${output}/${packagerMaster}`,
      '--mpd_output',
      `${output}/manifest.mpd`,
      '--generate_static_live_mpd',
    ],
    ...(key === undefined ? {} : { secrets: [key] }),
  };
}

function descriptorOf({ kind, id, input, language }: PackagedTrack, output: string): string {
  const folder = `${kind}/${id}`;
  return [
    `in=${input}`,
    `stream=${kind}`,
    `init_segment=${output}/${folder}/init.mp4`,
    `segment_template=${output}/${folder}/seg_$Number$.m4s`,
    `playlist_name=${folder}/playlist.m3u8`,
    ...(kind === 'video' ? [`iframe_playlist_name=${folder}/iframes.m3u8`] : ['hls_group_id=audio', `hls_name=${id}`]),
    ...(language === null ? [] : [`language=${language}`]),
  ].join(',');
}
