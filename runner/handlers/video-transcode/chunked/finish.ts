import { resolve } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import type { JobOptions } from '#domain/job-types/index.ts';
import { joinManifests } from '#domain/media/dash-manifest.ts';
import { framesSec } from '#domain/media/grid.ts';
import { inListingOrder, keepWorthwhile } from '#domain/media/ladder.ts';
import { joinPlaylists } from '#domain/media/media-playlist.ts';
import { chunkResultKey, videoKey, videoRoot } from '#domain/media/object-keys.ts';
import { type TrackKind, trackPaths } from '#domain/media/revision-layout.ts';
import { type ChunkResult, parseChunkResult } from '#domain/work/split.ts';
import type { Product, PublishContext } from '../../job-handler.ts';
import { assembleStream, tracksOf } from '../assemble.ts';
import { damageWarnings } from '../encode-video.ts';
import type { Encoded } from '../encoded.ts';
import { filesUnder, writeTexts } from '../package.ts';
import { type EncodePlan } from './plan.ts';
import { readPlan, readWork } from './publish-units.ts';

interface Results {
  readonly chunks: readonly ChunkResult[];
  readonly audio: ChunkResult;
}

/**
 * Makes a stream of the chunks, by their results: playlists, measured bandwidths and the job's results. No media byte
 * is read.
 *
 * @throws KnownProblem `storage_error` when a chunk or its objects are missing, `corrupt_input`, `packager_error`
 */
export async function finishChunked(
  options: JobOptions<'video:transcode'>,
  context: PublishContext,
): Promise<Product<'video:transcode'>> {
  const { task, workspace } = context;
  const plan = await readPlan(context);
  context.reporter.phase('packaging');
  const chunkResults = await readChunkResults(plan, context);
  const damaged = chunkResults.chunks.reduce((sum, record) => sum + record.damaged_frames, 0);
  const encoded: Encoded = {
    ...plan,
    video: inListingOrder(keepWorthwhile(measured(plan, chunkResults)), context.profile),
    warnings: [...plan.warnings, ...damageWarnings(damaged, plan.frames)],
  };
  const tracks = tracksOf(encoded);
  const folders = tracks.map(({ kind, id }) => `${kind}/${id}`);
  const revisionPath = (key: string) => key.slice(videoKey(task.hash, task.rev, '').length);
  const isListed = (path: string) => [...folders, 'storyboard'].some((folder) => path.startsWith(`${folder}/`));
  const objects = new Map(
    allOf(chunkResults).flatMap((result) => result.objects.map((object) => [object.key, object])),
  );
  const published = [...objects.values()].filter(({ key }) => isListed(revisionPath(key)));
  const sizes = new Map(published.map(({ key, size }) => [revisionPath(key), size]));
  const dash = joinManifests({
    chunks: chunkResults.chunks.map((result) => result.dash),
    audio: chunkResults.audio.dash === '' ? null : chunkResults.audio.dash,
    folders,
    durationSec: framesSec(plan.frames, plan.grid.rate),
  });
  const stream = {
    encoded,
    packaged: { playlists: playlistsOf(tracks, chunkResults), sizes },
    packagerMaster: chunkResults.chunks[0]?.master ?? '',
    dash,
    storyboardBytes: [...sizes].reduce((sum, [path, size]) => sum + (path.startsWith('storyboard/') ? size : 0), 0),
  };
  const encryption = options.encrypt ? context.encryption : null;
  const { texts, results } = assembleStream(stream, { ...context, encryption });
  const output = resolve(workspace.root, workspace.packaged);
  await writeTexts(texts, output);
  return {
    results,
    error: null,
    files: await filesUnder(output, (path) => videoKey(task.hash, task.rev, path)),
    published,
  };
}

const readsAtOnce = 8;

/** The results of every chunk, and of audio and text, once each object that they name is there. */
async function readChunkResults(plan: EncodePlan, context: PublishContext): Promise<Results> {
  const names = [...plan.chunks.keys(), 'audio' as const];
  const read = new Map<number | 'audio', ChunkResult>();
  const pending = names.values();
  const readNext = async () => {
    for (const name of pending)
      read.set(name, parseChunkResult(await readWork(chunkResultKey(context.task.rev, name), context)));
  };
  await Promise.all(Array.from({ length: readsAtOnce }, readNext));
  await refuseMissing(read, context);
  const audio = read.get('audio');
  if (audio === undefined) throw new TypeError('the result of the audio was read above');
  return { audio, chunks: names.flatMap((name) => (name === 'audio' ? [] : (read.get(name) ?? []))) };
}

/** Removes the result of a chunk whose objects are not there, so that the next attempt encodes that chunk again. */
async function refuseMissing(
  results: ReadonlyMap<number | 'audio', ChunkResult>,
  { task, media, log }: PublishContext,
): Promise<void> {
  const sizes = new Map<string, number>();
  for await (const { key, sizeBytes } of media.list(`${videoRoot(task.hash)}/${task.rev}/`)) sizes.set(key, sizeBytes);
  const broken = [...results].filter(([, { objects }]) => objects.some(({ key, size }) => sizes.get(key) !== size));
  if (broken.length === 0) return;
  const names = broken.map(([name]) => name);
  log.warn({ units: names }, 'objects of a finished chunk are missing');
  await media.delete(names.map((name) => chunkResultKey(task.rev, name)));
  throw new KnownProblem('storage_error', `Objects of ${names.length} finished units are missing.`);
}

function allOf({ chunks, audio }: Results): ChunkResult[] {
  return [...chunks, audio];
}

/** The rungs with their average bit rates, from small to large. */
function measured(plan: EncodePlan, { chunks }: Results) {
  const durationSec = framesSec(plan.frames, plan.grid.rate);
  const objects = chunks.flatMap((result) => result.objects);
  return plan.video.map((rung) => {
    const folder = `/video/${rung.id}/`;
    const bytes = objects.reduce((sum, { key, size }) => sum + (key.includes(folder) ? size : 0), 0);
    return { ...rung, averageBitrate: (bytes * 8) / durationSec };
  });
}

function playlistsOf(
  tracks: readonly { readonly kind: TrackKind; readonly id: string }[],
  { chunks, audio }: Results,
): Map<string, string> {
  const playlists = new Map<string, string>();
  for (const { kind, id } of tracks) {
    const parts = (kind === 'video' ? chunks : [audio]).flatMap((result) =>
      result.tracks.filter((track) => track.id === id),
    );
    const { playlist, iframePlaylist } = trackPaths(kind, id);
    playlists.set(playlist, joinPlaylists(parts.map((part) => part.playlist)));
    if (iframePlaylist !== null) {
      playlists.set(iframePlaylist, joinPlaylists(parts.map((part) => part.iframe_playlist ?? '')));
    }
  }
  return playlists;
}
