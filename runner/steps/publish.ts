import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import type { JobType } from '#domain/job-types/index.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { resultManifestKey } from '#domain/media/object-keys.ts';
import type { ResultManifest } from '#domain/runner/manifest.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { places, type Workspace } from '../context.ts';
import { handlers } from '../handlers/index.ts';
import type { JobHandler, Product, PublishContext, PublishedFile } from '../handlers/job-handler.ts';

type ManifestObject = ResultManifest['objects'][number];

const uploadsAtOnce = 4;
/** A file up to this size is read once, for its digest and its upload. */
const wholeBytesMax = 8 * 1024 * 1024;

/**
 * Packages where the job type does, uploads every file under the revision, and writes the result manifest last: once it
 * is there, everything that it names is. Until then nothing points at the objects, so doing it all again is safe.
 */
export async function publishResults(context: PublishContext, media: ObjectStore): Promise<void> {
  const { task, workspace, reporter, signal } = context;
  const manifestKey = resultManifestKey(task.job_id, task.attempt);
  if ((await media.head(manifestKey, signal)) !== null) {
    // An earlier run of this step came to its end; its objects may be published already and never change.
    context.log.info('the result manifest is there already');
    return;
  }
  await refuseLinks(workspace);
  const handler: JobHandler<JobType> = handlers[task.type];
  const made: unknown = JSON.parse(await readFile(workspace.at(places.madeDocument), 'utf8'));
  const product = await handler.publish(context, made);
  reporter.phase('publishing');
  const objects = await uploadAll(product.files, context, media);
  const manifest = JSON.stringify(manifestOf(product, objects, context));
  await media.put(manifestKey, manifest, { contentType: 'application/json', signal });
  context.log.info({ objects: objects.length, error: product.error?.code }, 'published');
}

/**
 * What `process` left must be plain files and folders: it decoded untrusted bytes, and a link of its making would have
 * this step, which holds credentials and the key, publish what the link leads to.
 */
async function refuseLinks(workspace: Workspace): Promise<void> {
  for (const place of [places.made, places.madeDocument]) {
    const top = await lstat(workspace.at(place));
    const below = top.isDirectory() ? await readdir(workspace.at(place), { recursive: true, withFileTypes: true }) : [];
    if ([top, ...below].some((entry) => !entry.isFile() && !entry.isDirectory())) {
      throw new Error('the workspace holds something that is neither a file nor a folder');
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

/** Uploads in the order of the list, a few at once; the last, which names the others, alone and after them. */
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
