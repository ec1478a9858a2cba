import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import type { JobOptions } from '#domain/job-types/index.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import type { VideoTranscodeResults } from '#domain/job-types/video-transcode.ts';
import { type Bandwidth, bandwidthOf, isUneven, type MeasuredSegment } from '#domain/media/bandwidth.ts';
import { framesSec } from '#domain/media/grid.ts';
import { parseMediaPlaylist, sharedTargetDuration, withTargetDuration } from '#domain/media/media-playlist.ts';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { codecsOfMaster, revisionMaster } from '#domain/media/revision-master.ts';
import { places } from '../../context.ts';
import { packageCommand, packagerMaster } from '../../tools/packager.ts';
import { runTool } from '../../tools/run-tool.ts';
import type { PublishContext, PublishedFile } from '../job-handler.ts';
import { type Encoded, encodedPlace } from './encode.ts';

/** A packaged track, measured. */
interface Packaged {
  readonly bandwidth: Bandwidth;
  readonly segmentCount: number;
  readonly durationSec: number;
}

const packageTimeoutMs = 2 * 3600_000;
/** The packager ends well on an input that is cut off, so what it wrote is held against what it was given. */
const missingSecMax = 0.5;

/**
 * Packages what was encoded, encrypted when that was asked for, and writes the revision's master playlist.
 *
 * @returns the results, and every file with its key, the master last
 * @throws KnownProblem `packager_error`, `resource_exhausted`, `deadline_exceeded`
 */
export async function packageStream(
  encoded: Encoded,
  { encrypt }: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<{ results: VideoTranscodeResults; files: PublishedFile[] }> {
  const { task, workspace } = context;
  const encryption = encrypt ? context.encryption : null;
  // A stream that was meant to be encrypted must never come out in the clear.
  if (encrypt && encryption === null) throw new Error('an encrypted stream needs a content key');
  const output = workspace.at(places.packaged);
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const tracks = [
    ...encoded.video.map(({ id }) => ({
      kind: 'video' as const,
      id,
      input: encodedPlace('video', id),
      language: null,
    })),
    ...encoded.audio.map(({ id, language }) => ({
      kind: 'audio' as const,
      id,
      input: encodedPlace('audio', id),
      language,
    })),
  ];
  await runTool(
    packageCommand(context.program('packager'), { tracks, output: places.packaged, grid: encoded.grid, encryption }),
    { timeoutMs: packageTimeoutMs, failure: { code: 'packager_error', message: 'The stream could not be packaged.' } },
    context,
  );
  await shareTargetDuration(tracks, output);
  const durationSec = framesSec(encoded.frames, encoded.grid.rate);
  const measured = new Map<string, Packaged>();
  for (const { kind, id } of tracks) {
    const track = await measure(join(output, kind, id), 'playlist.m3u8');
    if (Math.abs(track.durationSec - durationSec) > missingSecMax) {
      const message = 'The packager wrote a stream of another length than it was given.';
      throw new KnownProblem('packager_error', message);
    }
    measured.set(id, track);
  }
  await writeMaster(encoded, measured, output);
  const key = (path: string) => videoKey(task.hash, task.rev, path);
  const files = await filesUnder(output, key);
  const warnings = unevenWarnings(encoded, measured);
  for (const warning of warnings) context.reporter.warn(warning);
  const all = { ...encoded, warnings: [...encoded.warnings, ...warnings] };
  return { results: resultsOf(all, measured, { task, encryption }), files };
}

/**
 * A rate that is capped bounds the peak and not the average: a film that stands still for most of its time falls far
 * below its cap. Encoding the busy part worse, or the quiet part larger than it is, would help nobody, so it is told.
 */
function unevenWarnings({ video }: Encoded, measured: ReadonlyMap<string, Packaged>): Warning[] {
  const uneven = video.map(({ id }) => id).filter((id) => isUneven(bandwidthIn(measured, id)));
  if (uneven.length === 0) return [];
  return [{ code: 'uneven_bitrate', message: `The bit rate peaks at over twice its average: ${uneven.join(', ')}.` }];
}

/** Gives every media playlist of the stream, of pictures, sound and I-frames, one target duration. */
async function shareTargetDuration(
  tracks: readonly { readonly kind: 'video' | 'audio'; readonly id: string }[],
  output: string,
): Promise<void> {
  const texts = new Map<string, string>();
  for (const { kind, id } of tracks) {
    const names = kind === 'video' ? ['playlist.m3u8', 'iframes.m3u8'] : ['playlist.m3u8'];
    for (const name of names) {
      const path = join(output, kind, id, name);
      texts.set(path, await readFile(path, 'utf8'));
    }
  }
  const targetSec = sharedTargetDuration([...texts.values()].map(parseMediaPlaylist));
  for (const [path, text] of texts) await writeFile(path, withTargetDuration(text, targetSec));
}

async function measure(folder: string, playlist: string): Promise<Packaged> {
  const { targetDurationSec, segments } = parseMediaPlaylist(await readFile(join(folder, playlist), 'utf8'));
  const sized: MeasuredSegment[] = [];
  for (const { uri, durationSec, rangeBytes } of segments) {
    sized.push({ durationSec, sizeBytes: rangeBytes ?? (await stat(join(folder, uri))).size });
  }
  const durationSec = sized.reduce((sum, segment) => sum + segment.durationSec, 0);
  return { bandwidth: bandwidthOf(sized, targetDurationSec), segmentCount: sized.length, durationSec };
}

async function writeMaster(encoded: Encoded, measured: ReadonlyMap<string, Packaged>, output: string): Promise<void> {
  const codecs = codecsOfMaster(await readFile(join(output, packagerMaster), 'utf8'));
  await rm(join(output, packagerMaster));
  const video = [];
  for (const { id, width, height } of encoded.video) {
    const codec = codecs.video.get(`video/${id}/playlist.m3u8`);
    if (codec === undefined) throw new KnownProblem('packager_error', 'The packager did not name a codec.');
    const iframes = await measure(join(output, 'video', id), 'iframes.m3u8');
    video.push({ id, width, height, codec, bandwidth: bandwidthIn(measured, id), iframeBandwidth: iframes.bandwidth });
  }
  const audio = encoded.audio.map((track) => ({
    ...track,
    channels: 2,
    codec: codecs.audio ?? 'mp4a.40.2',
    bandwidth: bandwidthIn(measured, track.id),
  }));
  await writeFile(join(output, 'master.m3u8'), revisionMaster({ video, audio, rate: encoded.grid.rate }));
}

function bandwidthIn(measured: ReadonlyMap<string, Packaged>, id: string): Bandwidth {
  return measured.get(id)?.bandwidth ?? { average: 0, peak: 0 };
}

function uploadRank(path: string): number {
  if (path === 'master.m3u8') return 2;
  return /\.(m3u8|mpd)$/.test(path) ? 1 : 0;
}

/** Every file below `output`: segments and init segments first, then playlists, the master last. */
async function filesUnder(output: string, key: (path: string) => string): Promise<PublishedFile[]> {
  const entries = await readdir(output, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(output.length + 1));
  return paths
    .toSorted((a, b) => uploadRank(a) - uploadRank(b) || a.localeCompare(b))
    .map((path) => ({ key: key(path), path: join(output, path) }));
}

function resultsOf(
  encoded: Encoded,
  measured: ReadonlyMap<string, Packaged>,
  { task, encryption }: Pick<PublishContext, 'task' | 'encryption'>,
): VideoTranscodeResults {
  const place = (kind: 'video' | 'audio', id: string) => ({
    bitrate: Math.max(1, bandwidthIn(measured, id).average),
    playlist: videoKey(task.hash, task.rev, `${kind}/${id}/playlist.m3u8`),
    init: videoKey(task.hash, task.rev, `${kind}/${id}/init.mp4`),
    segment_count: measured.get(id)?.segmentCount ?? 0,
  });
  const audioIds = encoded.audio.map(({ id }) => id);
  return {
    streaming: {
      protocol: 'hls',
      container: 'cmaf',
      encrypted: encryption !== null,
      master_playlist: masterKey(task.hash),
      default_audio_track_id: encoded.audio.find(({ isDefault }) => isDefault)?.id ?? null,
    },
    audio_tracks: encoded.audio.map(({ id, role, language }) => ({
      id,
      role,
      language: language ?? 'und',
      codec: 'aac',
      channels: 2,
      ...place('audio', id),
    })),
    video_tracks: encoded.video.map(({ id, width, height }) => ({
      id,
      codec: 'h264',
      width,
      height,
      ...place('video', id),
      audio_track_ids: audioIds,
    })),
    ...(encryption === null
      ? {}
      : {
          encryption: {
            scheme: 'cbcs' as const,
            kid: encryption.contentKey.kid,
            key_endpoint: encryption.keyEndpoint,
          },
        }),
    source: encoded.source,
    warnings: encoded.warnings,
  };
}
