import { createHash } from 'node:crypto';
import { storedContentType } from '#domain/media/content-types.ts';
import { resultManifestKey } from '#domain/media/object-keys.ts';
import type { ResultManifest } from '#domain/runner/manifest.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { workspaceFiles } from '../context/step-context.ts';
import { loadHandler } from '../handlers/index.ts';
import type { Product, PublishContext, PublishedFile } from '../handlers/job-handler.ts';
import { openPlainFile, readPlainFile, refuseLinks } from './plain-files.ts';

type ManifestObject = ResultManifest['objects'][number];

const uploadsAtOnce = 4;
/** A file up to this size is read once, for its digest and its upload. */
const wholeBytesMax = 8 * 1024 * 1024;

/**
 * Runs the handler's `publish`, uploads every file under the revision, and writes the result manifest last: once it
 * exists, so does every object that it names. Until then nothing refers to the objects, so the step can be repeated.
 */
export async function publishResults(context: PublishContext, media: ObjectStore): Promise<void> {
  const { task, workspace, reporter, signal } = context;
  const manifestKey = resultManifestKey(task.job_id, task.attempt);
  if ((await media.head(manifestKey, signal)) !== null) {
    // An earlier run of this step finished; its objects may be published already and never change.
    context.log.info('result manifest exists already');
    return;
  }
  await refuseLinks(workspace.at(workspaceFiles.made));
  const handler = await loadHandler(task.type);
  const made: unknown = JSON.parse(await readPlainFile(workspace.at(workspaceFiles.madeDocument)));
  const product = await handler.publish(context, made);
  reporter.phase('publishing');
  const objects = await uploadAll(product.files, context, media);
  const manifest = JSON.stringify(manifestOf(product, objects, context));
  await media.put(manifestKey, manifest, { contentType: 'application/json', signal });
  context.log.info({ objects: objects.length, error: product.error?.code }, 'results published');
}

function manifestOf(product: Product, objects: readonly ManifestObject[], { task }: PublishContext): ResultManifest {
  return {
    v: 1,
    job_id: task.job_id,
    attempt: task.attempt,
    type: task.type,
    hash: task.hash,
    rev: task.rev,
    status: product.error === null ? 'completed' : 'failed',
    results: product.results,
    error: product.error,
    objects: [...objects],
  };
}

/** Uploads in the order of the list, a few at once; the last, which refers to the others, alone and after them. */
async function uploadAll(
  files: readonly PublishedFile[],
  context: PublishContext,
  media: ObjectStore,
): Promise<ManifestObject[]> {
  const objects: ManifestObject[] = [];
  const last = files.at(-1);
  const others = files.slice(0, -1).entries();
  const uploadNext = async (): Promise<void> => {
    for (const [index, file] of others) {
      objects[index] = await upload(file, context, media);
      context.reporter.progress(objects.length / files.length);
    }
  };
  await Promise.all(Array.from({ length: uploadsAtOnce }, uploadNext));
  if (last !== undefined) objects[files.length - 1] = await upload(last, context, media);
  return objects;
}

async function upload(
  { key, path }: PublishedFile,
  { signal }: PublishContext,
  media: ObjectStore,
): Promise<ManifestObject> {
  signal.throwIfAborted();
  await using file = await openPlainFile(path);
  const { size } = await file.stat();
  const contentType = storedContentType(key);
  if (size <= wholeBytesMax) {
    const bytes = await file.readFile();
    await media.put(key, bytes, { contentType, signal });
    return { key, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  }
  const digest = createHash('sha256');
  for await (const chunk of file.createReadStream({ autoClose: false })) digest.update(chunk as Buffer);
  await media.put(key, file.createReadStream({ start: 0, autoClose: false }), { contentType, signal });
  return { key, size, sha256: digest.digest('hex') };
}
