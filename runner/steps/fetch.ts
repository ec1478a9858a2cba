import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { chunkResultKey, chunkSourceKey, encodePlanKey } from '#domain/media/object-keys.ts';
import { asProblem } from '#domain/resource-problem.ts';
import type { UnitInput } from '#domain/work/unit.ts';
import type { ObjectStore, StoredObject } from '#platform/storage/object-store.ts';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';

/**
 * Copies the source into the workspace. It must still be the object that preflight measured.
 *
 * @throws KnownProblem `source_not_found`, `source_changed`, `source_unreadable`, `limit_exceeded`,
 * `resource_exhausted`
 */
async function fetchSource(context: StepContext, source: ObjectStore): Promise<void> {
  const { task, workspace, reporter, signal } = context;
  reporter.phase('probing');
  await mkdir(workspace.root, { recursive: true });
  const { info, body } = await openSource(context, source);
  const isOtherSize = task.source.size !== null && task.source.size !== info.sizeBytes;
  const isTooLarge = info.sizeBytes > task.source.bytes_max;
  if (isOtherSize || isTooLarge) {
    body.destroy();
    if (isOtherSize) throw new KnownProblem('source_changed');
    throw new KnownProblem(
      'limit_exceeded',
      `The source has ${info.sizeBytes} bytes; at most ${task.source.bytes_max} are accepted.`,
    );
  }
  let bytes = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      reporter.progress(bytes / Math.max(1, info.sizeBytes));
      done(null, chunk);
    },
  });
  try {
    await pipeline(body, counter, createWriteStream(workspace.at(workspaceFiles.source)), { signal });
  } catch (error) {
    throw readProblem(error, signal);
  }
  if (bytes !== info.sizeBytes) throw new KnownProblem('source_unreadable', 'The source object ended early.');
  context.log.info({ bytes }, 'source fetched');
}

/**
 * Copies the source of a chunk and the plan of its encode into the workspace; nothing for a finished chunk, for which
 * the steps that follow do nothing.
 *
 * @throws KnownProblem `storage_error`, `resource_exhausted`
 */
async function fetchChunk({ task, workspace, reporter, signal, log }: StepContext, media: ObjectStore): Promise<void> {
  reporter.phase('probing');
  await mkdir(workspace.root, { recursive: true });
  const { unit, rev } = task;
  if (!('chunk' in unit)) throw new TypeError('the unit has no chunk');
  const { chunk } = unit;
  const isFinished = async () => {
    if ((await media.head(chunkResultKey(rev, chunk), signal)) === null) return false;
    log.info({ chunk }, 'chunk is finished already');
    await writeFile(workspace.at(workspaceFiles.finished), '');
    return true;
  };
  if (await isFinished()) return;
  for (const [key, file] of [
    [encodePlanKey(rev), workspaceFiles.plan],
    [chunkSourceKey(rev, chunk), workspaceFiles.source],
  ] as const) {
    const object = await media.get(key, { signal });
    // Another process may have finished the chunk in between, and removed its source.
    if (object === null && (await isFinished())) return;
    if (object === null) throw new KnownProblem('storage_error', `A working object of the job is missing: ${key}.`);
    await pipeline(object.body, createWriteStream(workspace.at(file)), { signal });
  }
}

/** How `fetch` gets each kind of input. */
export const fetchers: Readonly<Record<UnitInput, (context: StepContext, store: ObjectStore) => Promise<void>>> = {
  source: fetchSource,
  chunk_source: fetchChunk,
  nothing: () => Promise.resolve(),
};

async function openSource({ task, signal }: StepContext, source: ObjectStore): Promise<StoredObject> {
  const { key, etag } = task.source;
  let object: StoredObject | null;
  try {
    object = await source.get(key, { signal, ...(etag === null ? {} : { ifMatch: etag }) });
  } catch (error) {
    throw readProblem(error, signal);
  }
  if (object === null) throw new KnownProblem('source_not_found');
  return object;
}

/** A failure of the source's store is `source_unreadable`, a full local disk or another lack `resource_exhausted`. */
function readProblem(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const problem = asProblem(error);
  if (isJobProblem(problem) && problem.code !== 'storage_error') return problem;
  return new KnownProblem('source_unreadable', undefined, { cause: error });
}
