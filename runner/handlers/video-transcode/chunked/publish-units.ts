import { stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import type { JobOptions } from '#domain/job-types/index.ts';
import type { Chunk } from '#domain/media/chunk-plan.ts';
import { isAt, segmentTimes } from '#domain/media/dash-manifest.ts';
import { keyFrameRanges } from '#domain/media/key-frame-ranges.ts';
import { withByteRanges } from '#domain/media/media-playlist.ts';
import {
  chunkSourceKey,
  chunkedRoot,
  splitKey,
  encodePlanKey,
  chunkResultKey,
  videoKey,
} from '#domain/media/object-keys.ts';
import { storyboardPaths, trackPaths } from '#domain/media/revision-layout.ts';
import { sheetsFilledBy } from '#domain/media/storyboard.ts';
import { parseJson } from '#domain/parse-json.ts';
import { type ChunkResult, earlierRevsMax, parseSplit, type Split, splitBytesMax } from '#domain/work/split.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { readText } from '#platform/storage/bounded-reads.ts';
import type { WorkProduct, PublishContext } from '../../job-handler.ts';
import { tracksOf } from '../assemble.ts';
import { filesUnder, isPlaylist, runPackager } from '../package.ts';
import { storyboardSheets } from '../storyboard.ts';
import type { ChunkMade } from './encode-chunk.ts';
import { chunkedRev, chunkOf, type EncodePlan, encodePlanSchema, ivOf } from './plan.ts';
import { chunkSourceFile } from './split.ts';

/** The plan of the chunked encode whose revision is the task's. @throws KnownProblem `storage_error` */
export async function readPlan({ task, media, signal }: PublishContext): Promise<EncodePlan> {
  return encodePlanSchema.parse(parseJson(await readWork(encodePlanKey(task.rev), { media, signal })));
}

/** As large as the result manifest of a whole job may be. */
const workBytesMax = 64 * 1024 * 1024;

/**
 * A working document of a chunked encode.
 *
 * @throws KnownProblem `storage_error` when it does not exist, `limit_exceeded` when it is too large
 */
export async function readWork(
  key: string,
  { media, signal }: { readonly media: ObjectStore; readonly signal: AbortSignal },
): Promise<string> {
  const document = await readText(media, { key, bytesMax: workBytesMax, signal });
  if (document === null) throw new KnownProblem('storage_error', `A working object of the job is missing: ${key}.`);
  return document;
}

/**
 * Publishes the output of `split`: first the job's split document, which names the revision to cleanup, then the
 * segments of audio and text, the sources of the chunks, and last the plan.
 */
export async function publishSplit(
  plan: EncodePlan,
  options: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<WorkProduct> {
  const encryption = options.encrypt ? context.encryption : null;
  const rev = chunkedRev(plan, options, { task: context.task, encryption });
  const earlier = await earlierRevs(rev, context);
  const split: Split = { v: 1, rev, ...earlier, chunk_frames: plan.chunks.map(({ frames }) => frames) };
  const { audio, text: subtitles } = plan;
  const { files, result } = await packageUnit(
    { plan, rev, tracks: { video: [], audio, text: subtitles }, firstSegment: 1 },
    options,
    context,
  );
  return {
    announcements: [{ key: splitKey(context.task.job_id), content: split, isOnce: false }],
    once: files,
    sources: await missingSources(plan, rev, context),
    documents: (objects) => [
      { key: chunkResultKey(rev, 'audio'), content: { ...result, objects }, isOnce: true },
      { key: encodePlanKey(rev), content: plan, isOnce: false },
    ],
    spent: [],
  };
}

/** The other revisions that the job's source was split for, in the form of the document of the split. */
async function earlierRevs(rev: string, { task, media, signal }: PublishContext): Promise<Pick<Split, 'earlier'>> {
  const json = await readText(media, { key: splitKey(task.job_id), bytesMax: splitBytesMax, signal });
  if (json === null) return {};
  const before = parseSplit(json);
  const earlier = [...new Set([...(before.earlier ?? []), before.rev])].filter((each) => each !== rev);
  return earlier.length === 0 ? {} : { earlier: earlier.slice(-earlierRevsMax) };
}

/**
 * The sources of unfinished chunks that are not stored. A video that was split before, by whichever job, was cut in the
 * same way.
 */
async function missingSources(
  { chunks }: EncodePlan,
  rev: string,
  { workspace, media }: PublishContext,
): Promise<WorkProduct['sources']> {
  const stored = new Map<string, number>();
  for await (const { key, sizeBytes } of media.list(`${chunkedRoot(rev)}/`)) stored.set(key, sizeBytes);
  const missing = [];
  for (const index of chunks.keys()) {
    if (stored.has(chunkResultKey(rev, index))) continue;
    const source = { key: chunkSourceKey(rev, index), path: workspace.at(chunkSourceFile(index)) };
    const { size } = await stat(source.path);
    if (stored.get(source.key) !== size) missing.push(source);
  }
  return missing;
}

/** Publishes the output of a chunk: its segments, and last its result. */
export async function publishChunk(
  { damagedFrames }: ChunkMade,
  options: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<WorkProduct> {
  const { task } = context;
  const plan = await readPlan(context);
  const { chunk, index } = chunkOf(task, plan);
  const video = { video: plan.video, audio: [], text: [] };
  const packaging = { plan, rev: task.rev, tracks: video, firstSegment: chunk.firstSegment };
  const { files, result } = await packageUnit(packaging, options, context);
  for (const { id } of plan.video) {
    const times = segmentTimes(result.dash, `video/${id}`);
    if (times === null || !isAt(times, chunk, plan.grid.rate)) {
      throw new KnownProblem('packager_error', `The segments of chunk ${index} are not where the plan has them.`);
    }
  }
  const stored = new Map<string, ReturnType<typeof keyFrameRanges>>();
  return {
    once: [...files, ...(plan.hasStoryboard ? sheetsOf(chunk, plan, context) : [])],
    sources: [],
    // x264 makes other bytes each time that it runs on several threads, so the result describes those that are stored.
    onStored: (key, bytes) => {
      if (key.endsWith('.m4s')) stored.set(key, keyFrameRanges(bytes));
    },
    documents: (objects) => {
      const tracks = result.tracks.map((track) => withStoredRanges(track, stored, task));
      const content: ChunkResult = { ...result, tracks, damaged_frames: damagedFrames, objects: [...objects] };
      return [{ key: chunkResultKey(task.rev, index), content, isOnce: true }];
    },
    // Of an encrypted stream it is clear video.
    spent: [chunkSourceKey(task.rev, index)],
  };
}

/** A track's playlists with the byte ranges of segments that another process stored before. */
function withStoredRanges(
  track: ChunkResult['tracks'][number],
  stored: ReadonlyMap<string, ReturnType<typeof keyFrameRanges>>,
  { hash, rev }: PublishContext['task'],
): ChunkResult['tracks'][number] {
  const { iframePlaylist } = trackPaths(track.kind, track.id);
  if (iframePlaylist === null || track.iframe_playlist === null) return track;
  const segmentKey = (uri: string) => videoKey(hash, rev, posix.join(posix.dirname(iframePlaylist), uri));
  return {
    ...track,
    iframe_playlist: withByteRanges(track.iframe_playlist, (uri) => stored.get(segmentKey(uri)) ?? null),
  };
}

/** The sheets of a chunk by their numbers in the whole video: every chunk before it fills its own. */
function sheetsOf(chunk: Chunk, plan: EncodePlan, { task, workspace }: PublishContext): WorkProduct['once'] {
  const before = sheetsFilledBy(chunk.firstFrame, plan.grid) ?? 0;
  return storyboardSheets({ ...plan, frames: chunk.frames }).map((file, index) => ({
    key: videoKey(task.hash, task.rev, storyboardPaths.sheet(before + index + 1)),
    path: workspace.at(file),
  }));
}

interface UnitToPackage {
  readonly plan: EncodePlan;
  readonly rev: string;
  readonly tracks: Pick<EncodePlan, 'video' | 'audio' | 'text'>;
  readonly firstSegment: number;
}

type PackagedUnit = Omit<ChunkResult, 'objects'>;

/** Packages the tracks of a unit. @returns its init segments and segments, and its result */
async function packageUnit(
  { plan, rev, tracks, firstSegment }: UnitToPackage,
  options: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<{ files: WorkProduct['once']; result: PackagedUnit }> {
  const listed = tracksOf(tracks);
  if (listed.length === 0) return { files: [], result: { v: 1, tracks: [], master: '', dash: '', damaged_frames: 0 } };
  const packaging = { tracks: listed, grid: plan.grid, frames: plan.frames, chunk: { firstSegment, iv: ivOf(rev) } };
  const { output, packaged, master, dash } = await runPackager(packaging, options, context);
  const packagedTracks: PackagedUnit['tracks'] = [];
  for (const { kind, id } of listed) {
    const { playlist, iframePlaylist } = trackPaths(kind, id);
    packagedTracks.push({
      kind,
      id,
      playlist: packaged.playlists.get(playlist) ?? '',
      iframe_playlist: iframePlaylist === null ? null : (packaged.playlists.get(iframePlaylist) ?? ''),
    });
  }
  const files = await filesUnder(output, (path) => videoKey(context.task.hash, rev, path));
  return {
    // The first chunk's init segment serves the whole track.
    files: files.filter(({ key }) => !isPlaylist(key) && (firstSegment === 1 || !key.endsWith('/init.mp4'))),
    result: { v: 1, tracks: packagedTracks, master, dash, damaged_frames: 0 },
  };
}
