import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import type { JobOptions } from '#domain/job-types/index.ts';
import type { VideoTranscodeResults } from '#domain/job-types/video-transcode.ts';
import { framesSec } from '#domain/media/grid.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { masterPath, trackPaths } from '#domain/media/revision-layout.ts';
import { codecsOfMaster, revisionMaster } from '#domain/media/revision-master.ts';
import { packageCommand, packagerMaster } from '../../tools/packager.ts';
import { runTool } from '../../tools/run-tool.ts';
import type { PublishContext, PublishedFile } from '../job-handler.ts';
import { type Encoded, encodedFile } from './encoded.ts';
import { bandwidthIn, type MeasuredTracks, measurePlaylist, shareTargetDuration, unevenWarnings } from './measure.ts';
import { transcodeResults } from './results.ts';

const packageTimeoutMs = 2 * 3600_000;
/** The packager succeeds on an input that is cut off, so the length of its output is compared with its input's. */
const missingSecMax = 0.5;

/**
 * Packages the encoded tracks, encrypted where `encrypt` is set, and writes the revision's master playlist.
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
  // Without a key the packager would write the stream in the clear.
  if (encrypt && encryption === null) throw new Error('an encrypted stream needs a content key');
  const output = resolve(workspace.root, workspace.packaged);
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  await runPackager(encoded, encryption, context);
  const tracks = tracksOf(encoded);
  await shareTargetDuration(tracks, output);
  const measured = await measureTracks(encoded, output);
  await writeMaster(encoded, measured, output);
  const warnings = unevenWarnings(tracks, measured);
  for (const warning of warnings) context.reporter.warn(warning);
  const all = { ...encoded, warnings: [...encoded.warnings, ...warnings] };
  return {
    results: transcodeResults(all, measured, { task, encryption }),
    files: await filesUnder(output, (path) => videoKey(task.hash, task.rev, path)),
  };
}

function tracksOf({ video, audio }: Encoded) {
  return [
    ...video.map(({ id }) => ({ kind: 'video' as const, id, language: null })),
    ...audio.map(({ id, language }) => ({ kind: 'audio' as const, id, language })),
  ];
}

async function runPackager(
  encoded: Encoded,
  encryption: PublishContext['encryption'],
  context: PublishContext,
): Promise<void> {
  const tracks = tracksOf(encoded).map((track) => ({ ...track, input: encodedFile(track.kind, track.id) }));
  const packaging = { tracks, output: context.workspace.packaged, grid: encoded.grid, encryption };
  const failure = { code: 'packager_error', message: 'The stream could not be packaged.' } as const;
  const command = packageCommand(context.program('packager'), packaging);
  await runTool(command, { timeoutMs: packageTimeoutMs, failure }, context);
}

async function measureTracks(encoded: Encoded, output: string): Promise<MeasuredTracks> {
  const durationSec = framesSec(encoded.frames, encoded.grid.rate);
  const measured = new Map<string, Awaited<ReturnType<typeof measurePlaylist>>>();
  for (const { kind, id } of tracksOf(encoded)) {
    const track = await measurePlaylist(join(output, trackPaths(kind, id).playlist));
    if (Math.abs(track.durationSec - durationSec) > missingSecMax) {
      const lengths = `${track.durationSec.toFixed(1)} s of ${durationSec.toFixed(1)} s`;
      throw new KnownProblem('packager_error', `The packager wrote a stream of the wrong length: ${lengths}.`);
    }
    measured.set(id, track);
  }
  return measured;
}

async function writeMaster(encoded: Encoded, measured: MeasuredTracks, output: string): Promise<void> {
  const codecs = codecsOfMaster(await readFile(join(output, packagerMaster), 'utf8'));
  await rm(join(output, packagerMaster));
  const video = [];
  for (const { id, width, height } of encoded.video) {
    const { playlist, iframePlaylist } = trackPaths('video', id);
    const codec = codecs.video.get(playlist);
    if (codec === undefined || iframePlaylist === null) {
      throw new KnownProblem('packager_error', 'The packager did not name a codec.');
    }
    const { bandwidth: iframeBandwidth } = await measurePlaylist(join(output, iframePlaylist));
    video.push({ id, width, height, codec, bandwidth: bandwidthIn(measured, id), iframeBandwidth });
  }
  const audio = encoded.audio.map((track) => ({
    ...track,
    channels: 2,
    codec: codecs.audio ?? 'mp4a.40.2',
    bandwidth: bandwidthIn(measured, track.id),
  }));
  await writeFile(join(output, masterPath), revisionMaster({ video, audio, rate: encoded.grid.rate }));
}

/** Every file below `output`: segments and init segments first, then playlists, the master last. */
async function filesUnder(output: string, key: (path: string) => string): Promise<PublishedFile[]> {
  const entries = await readdir(output, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(output, join(entry.parentPath, entry.name)));
  return paths
    .toSorted((a, b) => uploadRank(a) - uploadRank(b) || a.localeCompare(b))
    .map((path) => ({ key: key(path), path: join(output, path) }));
}

function uploadRank(path: string): number {
  if (path === masterPath) return 2;
  return /\.(m3u8|mpd)$/.test(path) ? 1 : 0;
}
