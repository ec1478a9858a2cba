import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { JobOptions } from '#domain/job-types/index.ts';
import type { VideoTranscodeResults } from '#domain/job-types/video-transcode.ts';
import { framesSec, type Grid } from '#domain/media/grid.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import {
  dashManifestPath,
  masterPath,
  storyboardPaths,
  trackPaths,
  waveformPath,
} from '#domain/media/revision-layout.ts';
import { packageCommand, packagerMaster, type PackagedTrack } from '../../tools/packager.ts';
import { runTool } from '../../tools/run-tool.ts';
import type { PublishContext, PublishedFile } from '../job-handler.ts';
import { assembleStream, tracksOf } from './assemble.ts';
import { type Encoded, encodedFile } from './encoded.ts';
import type { PackagedTexts } from './measure.ts';
import { storyboardSheets } from './storyboard.ts';
import { fitTextPlaylist } from './text-playlist.ts';
import { waveformFile } from './waveform.ts';

const packageTimeoutMs = 2 * 3600_000;

/**
 * Packages the encoded tracks, encrypted where `encrypt` is set, and writes the revision's master playlist.
 *
 * @returns the results, and every file with its key, the master last
 * @throws KnownProblem `packager_error`, `resource_exhausted`, `deadline_exceeded`
 */
export async function packageStream(
  encoded: Encoded,
  options: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<{ results: VideoTranscodeResults; files: PublishedFile[] }> {
  const { task } = context;
  const tracks = tracksOf(encoded);
  const { output, packaged, ...texts } = await runPackager(
    { tracks, grid: encoded.grid, frames: encoded.frames },
    options,
    context,
  );
  const sheets = encoded.hasStoryboard ? storyboardSheets(encoded).map((file) => context.workspace.at(file)) : [];
  const sizes = await Promise.all(sheets.map(async (path) => (await stat(path)).size));
  const storyboardBytes = sizes.reduce((sum, size) => sum + size, 0);
  const waveform = encoded.video.length === 0 ? context.workspace.at(waveformFile) : null;
  const stream = {
    encoded,
    packaged,
    packagerMaster: texts.master,
    dash: texts.dash,
    storyboardBytes,
    waveformBytes: waveform === null ? null : (await stat(waveform)).size,
  };
  const assembled = assembleStream(stream, { ...context, encryption: options.encrypt ? context.encryption : null });
  await writeTexts(assembled.texts, output);
  const streamKey = (path: string) => videoKey(task.hash, task.rev, path);
  return {
    results: assembled.results,
    files: [
      ...(waveform === null ? [] : [{ key: streamKey(waveformPath), path: waveform }]),
      ...sheets.map((path, index) => ({ key: streamKey(storyboardPaths.sheet(index + 1)), path })),
      ...(await filesUnder(output, streamKey)),
    ],
  };
}

interface TracksToPackage {
  readonly tracks: readonly Omit<PackagedTrack, 'input'>[];
  readonly grid: Grid;
  /** The frames of the video, which text is made as long as. */
  readonly frames: number;
  /** See `packageCommand`. */
  readonly chunk?: { readonly firstSegment: number; readonly iv: string };
}

/** Runs the packager on encoded tracks. @returns the folder that it wrote to, and the texts among its output */
export async function runPackager(
  { tracks, frames, ...rest }: TracksToPackage,
  { encrypt }: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<{ output: string; packaged: PackagedTexts; master: string; dash: string }> {
  const { workspace } = context;
  const encryption = encrypt ? context.encryption : null;
  // Without a key the packager would write the stream in the clear.
  if (encrypt && encryption === null) throw new Error('an encrypted stream needs a content key');
  const output = resolve(workspace.root, workspace.packaged);
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const inputs = tracks.map((track) => ({ ...track, input: encodedFile(track.kind, track.id) }));
  const packaging = { ...rest, tracks: inputs, output: workspace.packaged, encryption };
  const failure = { code: 'packager_error', message: 'The stream could not be packaged.' } as const;
  const command = packageCommand(context.program('packager'), packaging);
  await runTool(command, { timeoutMs: packageTimeoutMs, failure }, context);
  const [segmentSec, durationSec] = [rest.grid.segmentFrames, frames].map((count) => framesSec(count, rest.grid.rate));
  for (const { id } of tracks.filter(({ kind }) => kind === 'text')) {
    const { playlist, whole } = trackPaths('text', id);
    await fitTextPlaylist(join(output, playlist), segmentSec ?? 0, durationSec ?? 0);
    if (whole !== null) await copyFile(workspace.at(encodedFile('text', id)), join(output, whole));
  }
  const master = await readFile(join(output, packagerMaster), 'utf8');
  await rm(join(output, packagerMaster));
  const dash = await readFile(join(output, dashManifestPath), 'utf8');
  return { output, packaged: await readPackaged(tracks, output), master, dash };
}

async function readPackaged(tracks: TracksToPackage['tracks'], output: string): Promise<PackagedTexts> {
  const playlists = new Map<string, string>();
  const sizes = new Map<string, number>();
  for (const { kind, id } of tracks) {
    const { playlist, iframePlaylist } = trackPaths(kind, id);
    for (const path of iframePlaylist === null ? [playlist] : [playlist, iframePlaylist])
      playlists.set(path, await readFile(join(output, path), 'utf8'));
    for (const name of await readdir(join(output, dirname(playlist)))) {
      const path = join(dirname(playlist), name);
      sizes.set(path, (await stat(join(output, path))).size);
    }
  }
  return { playlists, sizes };
}

/** Writes texts to their paths below `output`. */
export async function writeTexts(texts: ReadonlyMap<string, string>, output: string): Promise<void> {
  for (const [path, text] of texts) {
    await mkdir(dirname(join(output, path)), { recursive: true });
    await writeFile(join(output, path), text);
  }
}

/** Every file below `output`: segments and init segments first, then playlists, the master last. */
export async function filesUnder(output: string, key: (path: string) => string): Promise<PublishedFile[]> {
  const entries = await readdir(output, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(output, join(entry.parentPath, entry.name)));
  return paths
    .toSorted((a, b) => uploadRank(a) - uploadRank(b) || a.localeCompare(b))
    .map((path) => ({ key: key(path), path: join(output, path) }));
}

/** Whether the file at a path refers to others. */
export function isPlaylist(path: string): boolean {
  return /\.(m3u8|mpd)$/.test(path);
}

function uploadRank(path: string): number {
  if (path === masterPath) return 2;
  return isPlaylist(path) ? 1 : 0;
}
