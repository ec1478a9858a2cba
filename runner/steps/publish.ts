import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { KnownProblem } from '#domain/errors.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { filmRecordKey, resultManifestKey } from '#domain/media/object-keys.ts';
import type { ResultManifest } from '#domain/runner/manifest.ts';
import { workspaceFiles } from '../context/step-context.ts';
import { loadHandler } from '../handlers/index.ts';
import type {
  FilmPartProduct,
  ManifestObject,
  Product,
  PublishContext,
  PublishedFile,
} from '../handlers/job-handler.ts';
import { openPlainFile, readPlainFile, refuseLinks } from './plain-files.ts';

const uploadsAtOnce = 4;
/** A file up to this size is read once, for its digest and its upload. */
const wholeBytesMax = 8 * 1024 * 1024;

/**
 * Runs the handler's `publish`, uploads every file under the revision, and writes the result manifest last: once it
 * exists, so does every object that it names. Until then nothing refers to the objects, so the step can be repeated.
 */
export async function publishResults(context: PublishContext): Promise<void> {
  const { task, media, reporter, signal } = context;
  const manifestKey = resultManifestKey(task.job_id, task.attempt);
  if ((await media.head(manifestKey, signal)) !== null) {
    // An earlier run of this step finished; its objects may be published already and never change.
    context.log.info('result manifest exists already');
    return;
  }
  const { part, rev } = task;
  // Read anew and not from the workspace, where `process` may have written what it likes.
  if (part?.kind === 'encode' && (await media.head(filmRecordKey(rev, part.chunk), signal)) !== null) return;
  const made = await readMade(context);
  const handler = await loadHandler(task.type);
  const product = await handler.publish(context, made);
  if ('documents' in product) return publishPart(product, context);
  reporter.phase('publishing');
  // A film's revision is that of other jobs too: what one of them published never changes.
  const objects = await uploadAll(product.files, context, product.published === undefined ? upload : uploadOnce);
  const manifest = JSON.stringify(manifestOf(product, [...(product.published ?? []), ...objects], context));
  await media.put(manifestKey, manifest, { contentType: 'application/json', signal });
  context.log.info({ objects: objects.length, error: product.error?.code }, 'results published');
}

/** The return value of `process`; null for the part of a film that has no such step. */
async function readMade({ task, workspace }: PublishContext): Promise<unknown> {
  if (task.part?.kind === 'finish') return null;
  await refuseLinks(workspace.at(workspaceFiles.made));
  return JSON.parse(await readPlainFile(workspace.at(workspaceFiles.madeDocument)));
}

/**
 * Uploads a part of a film, its documents last. The same part may be uploaded by two processes at once: an object that
 * one has written is not replaced by the other, and both record what is stored.
 */
async function publishPart(product: FilmPartProduct, context: PublishContext): Promise<void> {
  const { media, signal, log } = context;
  const onStored = (key: string, bytes: Buffer) => product.onStored?.(key, bytes);
  const objects = await uploadEach(product.once, context, (file) => uploadOnce(file, context, onStored));
  await uploadEach(product.sources, context, upload);
  for (const { key, content, isOnce } of product.documents(objects)) {
    const json = Buffer.from(JSON.stringify(content));
    const options = { contentType: 'application/json', signal };
    await (isOnce ? media.putNew(key, json, options) : media.put(key, json, options));
  }
  log.info({ objects: objects.length }, 'part of a film published');
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
  uploadOne: typeof upload,
): Promise<ManifestObject[]> {
  const objects = await uploadEach(files.slice(0, -1), context, uploadOne);
  return [...objects, ...(await uploadEach(files.slice(-1), context, uploadOne))];
}

/** Uploads in the order of the list, a few at once. */
async function uploadEach(
  files: readonly PublishedFile[],
  context: PublishContext,
  uploadOne: typeof upload,
): Promise<ManifestObject[]> {
  const objects: ManifestObject[] = [];
  const pending = files.entries();
  const uploadNext = async (): Promise<void> => {
    for (const [index, file] of pending) {
      objects[index] = await uploadOne(file, context);
      context.reporter.progress(objects.length / files.length);
    }
  };
  await Promise.all(Array.from({ length: uploadsAtOnce }, uploadNext));
  return objects;
}

async function upload({ key, path }: PublishedFile, { media, signal }: PublishContext): Promise<ManifestObject> {
  signal.throwIfAborted();
  await using file = await openPlainFile(path);
  const { size } = await file.stat();
  const contentType = storedContentType(key);
  if (size <= wholeBytesMax) {
    const bytes = await file.readFile();
    await media.put(key, bytes, { contentType, signal });
    return describe(key, bytes);
  }
  const digest = createHash('sha256');
  for await (const chunk of file.createReadStream({ autoClose: false })) digest.update(chunk as Buffer);
  await media.put(key, file.createReadStream({ start: 0, autoClose: false }), { contentType, signal });
  return { key, size, sha256: digest.digest('hex') };
}

/** Uploads a file unless its key has an object. @returns what is stored */
async function uploadOnce(
  { key, path }: PublishedFile,
  { media, signal }: PublishContext,
  onStored?: (key: string, bytes: Buffer) => void,
): Promise<ManifestObject> {
  signal.throwIfAborted();
  await using file = await openPlainFile(path);
  const bytes = await file.readFile();
  if (await media.putNew(key, bytes, { contentType: storedContentType(key), signal })) return describe(key, bytes);
  const stored = await media.get(key, { signal });
  if (stored === null) throw new KnownProblem('storage_error', `The object ${key} was removed while it was used.`);
  const storedBytes = await buffer(stored.body);
  onStored?.(key, storedBytes);
  return describe(key, storedBytes);
}

function describe(key: string, bytes: Buffer): ManifestObject {
  return { key, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}
