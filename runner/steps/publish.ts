import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { storedContentType } from '#domain/media/content-types.ts';
import { resultManifestKey } from '#domain/media/object-keys.ts';
import type { ResultManifest } from '#domain/runner/manifest.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { type Workspace, workspaceFiles } from '../context/step-context.ts';
import { loadHandler } from '../handlers/index.ts';
import type { Product, PublishContext, PublishedFile } from '../handlers/job-handler.ts';

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
  await refuseLinks(workspace);
  const handler = await loadHandler(task.type);
  const made: unknown = JSON.parse(await readFile(workspace.at(workspaceFiles.madeDocument), 'utf8'));
  const product = await handler.publish(context, made);
  reporter.phase('publishing');
  const objects = await uploadAll(product.files, context, media);
  const manifest = JSON.stringify(manifestOf(product, objects, context));
  await media.put(manifestKey, manifest, { contentType: 'application/json', signal });
  context.log.info({ objects: objects.length, error: product.error?.code }, 'results published');
}

/**
 * The output of `process` must be plain files and folders. That step decoded untrusted bytes; through a link that it
 * made, this step, which has credentials and the key, would publish any file that it can read.
 */
async function refuseLinks(workspace: Workspace): Promise<void> {
  for (const file of [workspaceFiles.made, workspaceFiles.madeDocument]) {
    const top = await lstat(workspace.at(file));
    const below = top.isDirectory() ? await readdir(workspace.at(file), { recursive: true, withFileTypes: true }) : [];
    if ([top, ...below].some((entry) => !entry.isFile() && !entry.isDirectory())) {
      throw new Error('the workspace contains an entry that is neither a file nor a folder');
    }
  }
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
  const { size } = await stat(path);
  const contentType = storedContentType(key);
  if (size <= wholeBytesMax) {
    const bytes = await readFile(path);
    await media.put(key, bytes, { contentType, signal });
    return { key, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  }
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer);
  await media.put(key, createReadStream(path), { contentType, signal });
  return { key, size, sha256: digest.digest('hex') };
}
