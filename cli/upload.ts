import { createHash } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { nameOfUrl } from '#domain/imports/import.ts';
import { ReelwrightError, type Upload } from '../clients/typescript/src/index.ts';
import type { Context } from './command.ts';
import { UsageError } from './exit-codes.ts';
import { TransferRate } from './progress.ts';
import { type Env, writePrivately } from './settings.ts';

// Uploads of `submit`. Where the service is away, an upload goes on from the parts that it has; which upload a file
// belongs to is in a file of its owner's, so that a call after Ctrl-C goes on too.

/** Seconds without progress after which an upload fails: more than a restart of the service takes. */
const outageMsMax = 300_000;
const pauseMs = 2_000;
const pendingMax = 100;
const pendingSchema = z.record(z.string().max(4096), z.string().max(64));

export interface LocalFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** Reads a file once for its digest, by which the service checks what it got. */
export async function describeFile(context: Context, path: string, sizeBytes: number): Promise<LocalFile> {
  if (sizeBytes === 0) throw new UsageError(`${path}: the file is empty`);
  const hash = createHash('sha256');
  const rate = new TransferRate();
  let read = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024, signal: context.signal })) {
    const bytes = chunk as Buffer;
    hash.update(bytes);
    read += bytes.length;
    context.output.bar(`reading   ${rate.line(read, sizeBytes)}`);
  }
  return { path, sizeBytes: read, sha256: hash.digest('hex') };
}

/** Uploads a file, or goes on with an earlier upload of the same bytes. */
export async function uploadLocalFile(context: Context, file: LocalFile): Promise<Upload> {
  const { base_url: baseUrl } = await context.server();
  const pending = new PendingUploads(context.env, `${baseUrl} ${file.sha256} ${file.sizeBytes}`);
  try {
    const upload = await uploadUntilDone(context, file, pending);
    await pending.set(null);
    return upload;
  } finally {
    await pending.written;
  }
}

async function uploadUntilDone(context: Context, file: LocalFile, pending: PendingUploads): Promise<Upload> {
  const { output, signal } = context;
  const client = await context.client();
  const blob = await openAsBlob(file.path);
  const rate = new TransferRate();
  let uploadId = await pending.get();
  let mostSent = 0;
  let progressAt = Date.now();
  const onProgress = (progress: { uploadId: string; sentBytes: number; totalBytes: number }) => {
    if (progress.uploadId !== uploadId) void pending.set((uploadId = progress.uploadId));
    if (progress.sentBytes > mostSent) [mostSent, progressAt] = [progress.sentBytes, Date.now()];
    output.bar(`uploading ${rate.line(progress.sentBytes, progress.totalBytes)}`);
  };
  for (;;) {
    const known = uploadId === null ? {} : { resume: uploadId };
    try {
      const { sha256 } = file;
      return await client.upload(blob, { name: basename(file.path), sha256, onProgress, signal, ...known });
    } catch (error) {
      signal.throwIfAborted();
      if (uploadId !== null && isLost(error)) {
        await pending.set((uploadId = null));
        continue;
      }
      if (!isOutage(error) || Date.now() - progressAt > outageMsMax) throw error;
      output.note(`the service is away, the upload goes on when it is back: ${(error as Error).message}`);
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

/** An upload that was deleted, has expired or failed: the file is sent from its beginning. */
function isLost(error: unknown): boolean {
  return error instanceof ReelwrightError && ['not_found', 'upload_conflict', 'media_deleted'].includes(error.code);
}

function isOutage(error: unknown): boolean {
  return error instanceof ReelwrightError && (error.code === 'unreachable' || error.status >= 500);
}

/** The id of the unfinished upload of a file, in `~/.local/state/reelwright/uploads.json`. */
class PendingUploads {
  readonly #path: string;
  readonly #file: string;
  #written: Promise<void> = Promise.resolve();

  constructor(env: Env, file: string) {
    const state = env['XDG_STATE_HOME'] ?? join(env['HOME'] ?? homedir(), '.local/state');
    this.#path = join(state, 'reelwright/uploads.json');
    this.#file = file;
  }

  async get(): Promise<string | null> {
    return (await this.#read())[this.#file] ?? null;
  }

  /** One write after another: the last call decides, and no two write the file at once. */
  set(uploadId: string | null): Promise<void> {
    return (this.#written = this.#written.then(() => this.#write(uploadId)));
  }

  /** Resolves once all that was set is written. */
  get written(): Promise<void> {
    return this.#written;
  }

  /** A state that cannot be written costs a later call its resumption, and this one nothing. */
  async #write(uploadId: string | null): Promise<void> {
    const { [this.#file]: _, ...others } = await this.#read();
    const kept = Object.entries(others).slice(-pendingMax);
    const next = uploadId === null ? kept : [...kept, [this.#file, uploadId]];
    await writePrivately(this.#path, JSON.stringify(Object.fromEntries(next))).catch(() => undefined);
  }

  async #read(): Promise<Record<string, string>> {
    try {
      return pendingSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')));
    } catch {
      return {};
    }
  }
}

/** Copies what an address has into the bucket of sources. */
export async function uploadFromUrl(context: Context, url: string): Promise<Upload> {
  const client = await context.client();
  const response = await fetch(url, { signal: context.signal }).catch((error: Error) => {
    throw new UsageError(
      `${url}: cannot be read: ${error.cause instanceof Error ? error.cause.message : error.message}`,
    );
  });
  const size = Number(response.headers.get('content-length') ?? 0);
  if (!response.ok || response.body === null) throw new UsageError(`${url}: the server answered ${response.status}`);
  if (size === 0 || response.headers.has('content-encoding')) {
    await response.body.cancel();
    throw new UsageError(`${url}: its server does not state the size; download it and submit the file`);
  }
  const rate = new TransferRate();
  return await client.upload(response.body, {
    name: nameOfUrl(url),
    size,
    parallel: 2,
    signal: context.signal,
    onProgress: ({ sentBytes, totalBytes }) => context.output.bar(`copying   ${rate.line(sentBytes, totalBytes)}`),
  });
}
