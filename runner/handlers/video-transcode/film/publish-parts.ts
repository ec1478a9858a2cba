import { stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { text } from 'node:stream/consumers';
import { KnownProblem } from '#domain/errors.ts';
import type { JobOptions } from '#domain/job-types/index.ts';
import type { Chunk } from '#domain/media/chunk-plan.ts';
import { isAt, segmentTimes } from '#domain/media/dash-manifest.ts';
import { keyFrameRanges } from '#domain/media/key-frame-ranges.ts';
import { withByteRanges } from '#domain/media/media-playlist.ts';
import {
  chunkSourceKey,
  chunkSourcesRoot,
  filmKey,
  filmPlanKey,
  filmRecordKey,
  videoKey,
} from '#domain/media/object-keys.ts';
import { storyboardPaths, trackPaths } from '#domain/media/revision-layout.ts';
import { sheetsFilledBy } from '#domain/media/storyboard.ts';
import type { Film, FilmRecord } from '#domain/runner/film.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { FilmPartProduct, PublishContext } from '../../job-handler.ts';
import { tracksOf } from '../assemble.ts';
import { filesUnder, isPlaylist, runPackager } from '../package.ts';
import { storyboardSheets } from '../storyboard.ts';
import type { ChunkMade } from './encode-chunk.ts';
import { type FilmPlan, filmPlanSchema, filmRev, ivOf } from './plan.ts';
import { chunkSourceFile } from './split.ts';

/** The plan of the film whose revision is the task's. @throws KnownProblem `storage_error` */
export async function readPlan({ task, media, signal }: PublishContext): Promise<FilmPlan> {
  return filmPlanSchema.parse(JSON.parse(await readWork(filmPlanKey(task.rev), { media, signal })));
}

/** A working object of a film. @throws KnownProblem `storage_error` when it does not exist */
export async function readWork(
  key: string,
  { media, signal }: { readonly media: ObjectStore; readonly signal: AbortSignal },
): Promise<string> {
  const object = await media.get(key, { signal });
  if (object === null) throw new KnownProblem('storage_error', `A working object of the film is missing: ${key}.`);
  return text(object.body);
}

/**
 * What `split` publishes: the segments of sound and text, the sources of the chunks, the plan, and at last the object that says
 * that the job's source was split.
 */
export async function publishSplit(
  plan: FilmPlan,
  options: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<FilmPartProduct> {
  const encryption = options.encrypt ? context.encryption : null;
  const rev = filmRev(plan, options, { task: context.task, encryption });
  const film: Film = { v: 1, rev, chunk_frames: plan.chunks.map(({ frames }) => frames) };
  const { audio, text: subtitles } = plan;
  const sound = await packagePart(
    { plan, rev, tracks: { video: [], audio, text: subtitles }, firstSegment: 1 },
    options,
    context,
  );
  return {
    once: sound.files,
    sources: await missingSources(plan, rev, context),
    documents: (objects) => [
      { key: filmRecordKey(rev, 'audio'), content: { ...sound.record, objects }, isOnce: true },
      { key: filmPlanKey(rev), content: plan, isOnce: false },
      { key: filmKey(context.task.job_id), content: film, isOnce: false },
    ],
  };
}

/** The sources of chunks that are not stored. A film that was split before, by whichever job, was cut in the same way. */
async function missingSources(
  { chunks }: FilmPlan,
  rev: string,
  { workspace, media }: PublishContext,
): Promise<FilmPartProduct['sources']> {
  const stored = new Map<string, number>();
  for await (const { key, sizeBytes } of media.list(chunkSourcesRoot(rev))) stored.set(key, sizeBytes);
  const missing = [];
  for (const index of chunks.keys()) {
    const source = { key: chunkSourceKey(rev, index), path: workspace.at(chunkSourceFile(index)) };
    const { size } = await stat(source.path);
    if (stored.get(source.key) !== size) missing.push(source);
  }
  return missing;
}

/** What a chunk publishes: its segments, and at last its record. */
export async function publishChunk(
  { damagedFrames }: ChunkMade,
  options: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<FilmPartProduct> {
  const { task } = context;
  const plan = await readPlan(context);
  const index = task.part?.kind === 'encode' ? task.part.chunk : -1;
  const chunk = plan.chunks[index];
  if (chunk === undefined) throw new Error(`the film has ${plan.chunks.length} chunks and no chunk ${index}`);
  const video = { video: plan.video, audio: [], text: [] };
  const part = { plan, rev: task.rev, tracks: video, firstSegment: chunk.firstSegment };
  const { files, record } = await packagePart(part, options, context);
  for (const { id } of plan.video) {
    const times = segmentTimes(record.dash, `video/${id}`);
    if (times === null || !isAt(times, chunk, plan.grid.rate)) {
      throw new KnownProblem('packager_error', `The segments of chunk ${index} are not where the plan has them.`);
    }
  }
  const stored = new Map<string, ReturnType<typeof keyFrameRanges>>();
  return {
    once: [...files, ...(plan.hasStoryboard ? sheetsOf(chunk, plan, context) : [])],
    sources: [],
    // x264 makes other bytes each time that it runs on several threads, so the record describes those that are stored.
    onStored: (key, bytes) => {
      if (key.endsWith('.m4s')) stored.set(key, keyFrameRanges(bytes));
    },
    documents: (objects) => {
      const tracks = record.tracks.map((track) => withStoredRanges(track, stored, task));
      const content: FilmRecord = { ...record, tracks, damaged_frames: damagedFrames, objects: [...objects] };
      return [{ key: filmRecordKey(task.rev, index), content, isOnce: true }];
    },
  };
}

/** The record of a track with the byte ranges of segments that another process stored before. */
function withStoredRanges(
  track: FilmRecord['tracks'][number],
  stored: ReadonlyMap<string, ReturnType<typeof keyFrameRanges>>,
  { hash, rev }: PublishContext['task'],
): FilmRecord['tracks'][number] {
  const { iframePlaylist } = trackPaths(track.kind, track.id);
  if (iframePlaylist === null || track.iframe_playlist === null) return track;
  const keyOf = (uri: string) => videoKey(hash, rev, posix.join(posix.dirname(iframePlaylist), uri));
  return { ...track, iframe_playlist: withByteRanges(track.iframe_playlist, (uri) => stored.get(keyOf(uri)) ?? null) };
}

/** The sheets of a chunk by their numbers in the film: every chunk before it fills its own. */
function sheetsOf(chunk: Chunk, plan: FilmPlan, { task, workspace }: PublishContext): FilmPartProduct['once'] {
  const before = sheetsFilledBy(chunk.firstFrame, plan.grid) ?? 0;
  return storyboardSheets({ ...plan, frames: chunk.frames }).map((file, index) => ({
    key: videoKey(task.hash, task.rev, storyboardPaths.sheet(before + index + 1)),
    path: workspace.at(file),
  }));
}

interface Part {
  readonly plan: FilmPlan;
  readonly rev: string;
  readonly tracks: Pick<FilmPlan, 'video' | 'audio' | 'text'>;
  readonly firstSegment: number;
}

type PartRecord = Omit<FilmRecord, 'objects'>;

/** Packages a part of a film. @returns its init segments and segments, and its record */
async function packagePart(
  { plan, rev, tracks, firstSegment }: Part,
  options: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<{ files: FilmPartProduct['once']; record: PartRecord }> {
  const listed = tracksOf(tracks);
  if (listed.length === 0) return { files: [], record: { v: 1, tracks: [], master: '', dash: '', damaged_frames: 0 } };
  const packaging = { tracks: listed, grid: plan.grid, frames: plan.frames, part: { firstSegment, iv: ivOf(rev) } };
  const { output, packaged, master, dash } = await runPackager(packaging, options, context);
  const recorded: PartRecord['tracks'] = [];
  for (const { kind, id } of listed) {
    const { playlist, iframePlaylist } = trackPaths(kind, id);
    recorded.push({
      kind,
      id,
      playlist: packaged.playlists.get(playlist) ?? '',
      iframe_playlist: iframePlaylist === null ? null : (packaged.playlists.get(iframePlaylist) ?? ''),
    });
  }
  const files = await filesUnder(output, (path) => videoKey(context.task.hash, rev, path));
  return {
    // The init segment of a track is that of its first chunk.
    files: files.filter(({ key }) => !isPlaylist(key) && (firstSegment === 1 || !key.endsWith('/init.mp4'))),
    record: { v: 1, tracks: recorded, master, dash, damaged_frames: 0 },
  };
}
