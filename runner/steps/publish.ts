import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { KnownProblem } from '#domain/errors.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { digestDocuments } from '#domain/work/object-digests.ts';
import { chunkResultKey, resultManifestKey } from '#domain/media/object-keys.ts';
import { parseJson } from '#domain/parse-json.ts';
import { manifestJson, type ManifestObject, manifestObjectsMax } from '#domain/work/manifest.ts';
import type { Task } from '#domain/work/task.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import { programVersion } from '#platform/telemetry/program-version.ts';
import { workspaceFiles } from '../context/step-context.ts';
import { loadHandler } from '../handlers/index.ts';
import type { WorkDocument, WorkProduct, Product, PublishContext, PublishedFile } from '../handlers/job-handler.ts';
import { openPlainFile, readPlainFile, refuseLinks } from './plain-files.ts';
import { readWhole } from '#platform/storage/read-whole.ts';

type UploadContext = Pick<PublishContext, 'media' | 'reporter' | 'signal' | 'log'>;

const uploadsAtOnce = 4;
/** A file up to this size is read once, for its digest and its upload. */
const wholeBytesMax = 8 * 1024 * 1024;

/**
 * Runs the handler's `publish`, uploads every file under the revision, and writes the unit's result last, so that every
 * object that it names exists. Until then nothing refers to the objects, and the step can be repeated.
 */
export async function publishResults(context: PublishContext): Promise<void> {
  const { task, media, signal, log } = context;
  // An earlier run finished. Asked of the bucket and not of the workspace, where `process` may have written anything.
  if ((await media.head(resultKeyOf(task), signal)) !== null) return log.info('unit is finished already');
  const handler = await loadHandler(task);
  const made = unitKindRow(task.unit.kind).steps.some((step) => step !== 'publish') ? await readMade(context) : null;
  const product = await handler.publish(context, made);
  await ('documents' in product ? publishWork(product, context) : publishOutcome(product, context));
}

/** The object that says that a unit is finished. */
function resultKeyOf({ unit, rev, job_id: jobId, attempt }: Task): string {
  return 'chunk' in unit ? chunkResultKey(rev, unit.chunk) : resultManifestKey(jobId, attempt);
}

/** The return value of `process`. */
async function readMade({ workspace }: PublishContext): Promise<unknown> {
  await refuseLinks(workspace.at(workspaceFiles.made));
  return parseJson(await readPlainFile(workspace.at(workspaceFiles.madeDocument)));
}

/** Uploads the outcome of an attempt, its result manifest last. */
async function publishOutcome(product: Product, context: PublishContext): Promise<void> {
  const { task, media, reporter, signal, log } = context;
  reporter.phase('publishing');
  // Other jobs may use a shared revision: what one of them published never changes.
  const { isShared } = unitKindRow(task.unit.kind);
  const published = product.published ?? [];
  const objects = await (isShared ? uploadShared : uploadOwn)(product.files, published, context);
  const manifest = manifestOf(product, [...published, ...objects], context);
  const options = { contentType: 'application/json', signal };
  await media.put(resultManifestKey(task.job_id, task.attempt), manifest, options);
  log.info({ objects: objects.length, error: product.error?.code }, 'results published');
}

/**
 * Uploads what a unit hands to other units, its documents last. Two processes may upload the same unit at once: neither
 * replaces an object of the other, and both describe what is stored.
 */
export async function publishWork(product: WorkProduct, context: UploadContext): Promise<void> {
  const { media, signal, log } = context;
  const onStored = (key: string, bytes: Buffer) => product.onStored?.(key, bytes);
  const write = async ({ key, content, isOnce }: WorkDocument) => {
    const json = Buffer.from(JSON.stringify(content));
    const options = { contentType: 'application/json', signal };
    await (isOnce ? media.putNew(key, json, options) : media.put(key, json, options));
  };
  for (const document of product.announcements ?? []) await write(document);
  const objects = await uploadEach(product.once, context, (file) => uploadOnce(file, context, onStored));
  await uploadEach(product.sources, context, upload);
  for (const document of product.documents(objects)) await write(document);
  await media.delete(product.spent);
  log.info({ objects: objects.length }, 'unit published');
}

function manifestOf(product: Product, objects: readonly ManifestObject[], { task }: PublishContext): string {
  if (objects.length > manifestObjectsMax)
    throw new KnownProblem(
      'limit_exceeded',
      `The output has ${objects.length} objects; at most ${manifestObjectsMax} are accepted.`,
    );
  const { job_id, attempt, type, hash, rev } = task;
  const { results, error } = product;
  const status = error === null ? 'completed' : 'failed';
  return manifestJson(
    { job_id, attempt, type, hash, rev, status, results, error, tool_version: programVersion() },
    objects,
  );
}

/** Uploads in the order of the list, a few at once; the last, which refers to the others, after them, with digests. */
async function uploadOwn(
  files: readonly PublishedFile[],
  published: readonly ManifestObject[],
  context: PublishContext,
): Promise<ManifestObject[]> {
  const objects = await uploadEach(files.slice(0, -1), context, upload);
  for (const file of files.slice(-1)) objects.push(await describeFile(file));
  const digests = digestDocuments([...published, ...objects]);
  await Promise.all([
    uploadEach(files.slice(-1), context, upload),
    ...digests.map(({ key, text }) => context.media.put(key, text, digestOptions(context))),
  ]);
  return objects;
}

/** The same, of a revision that others may have published or be publishing: what is stored stays, and is described. */
async function uploadShared(
  files: readonly PublishedFile[],
  published: readonly ManifestObject[],
  context: PublishContext,
): Promise<ManifestObject[]> {
  const objects = await uploadEach(files.slice(0, -1), context, uploadOnce);
  objects.push(...(await uploadEach(files.slice(-1), context, uploadOnce)));
  for (const { key, text } of digestDocuments([...published, ...objects])) {
    const bytes = Buffer.from(text);
    if (await context.media.putNew(key, bytes, digestOptions(context))) continue;
    const stored = await context.media.get(key, { signal: context.signal });
    // They differ when objects were lost and made again.
    if (stored === null || !(await readWhole(stored.body)).equals(bytes))
      await context.media.put(key, bytes, digestOptions(context));
  }
  return objects;
}

const digestOptions = ({ signal }: PublishContext) => ({ contentType: 'text/plain', signal });

/** Uploads in the order of the list, a few at once. */
async function uploadEach(
  files: readonly PublishedFile[],
  context: UploadContext,
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

async function upload({ key, path }: PublishedFile, { media, signal }: UploadContext): Promise<ManifestObject> {
  signal.throwIfAborted();
  await using file = await openPlainFile(path);
  const { size } = await file.stat();
  const contentType = storedContentType(key);
  if (size <= wholeBytesMax) {
    const bytes = await file.readFile();
    await media.put(key, bytes, { contentType, signal });
    return describe(key, bytes);
  }
  const sha256 = await fileDigest(file);
  await media.put(key, file.createReadStream({ start: 0, autoClose: false }), { contentType, signal });
  return { key, size, sha256 };
}

/** Describes a file that `upload` will store. */
async function describeFile({ key, path }: PublishedFile): Promise<ManifestObject> {
  await using file = await openPlainFile(path);
  return { key, size: (await file.stat()).size, sha256: await fileDigest(file) };
}

async function fileDigest(file: FileHandle): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) digest.update(chunk as Buffer);
  return digest.digest('hex');
}

/** Uploads a file unless its key has an object. @returns what is stored */
async function uploadOnce(
  { key, path }: PublishedFile,
  { media, signal }: UploadContext,
  onStored?: (key: string, bytes: Buffer) => void,
): Promise<ManifestObject> {
  signal.throwIfAborted();
  await using file = await openPlainFile(path);
  const bytes = await file.readFile();
  if (await media.putNew(key, bytes, { contentType: storedContentType(key), signal })) return describe(key, bytes);
  const stored = await media.get(key, { signal });
  if (stored === null) throw new KnownProblem('storage_error', `The object ${key} was removed while it was used.`);
  const storedBytes = await readWhole(stored.body);
  onStored?.(key, storedBytes);
  return describe(key, storedBytes);
}

function describe(key: string, bytes: Buffer): ManifestObject {
  return { key, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}
