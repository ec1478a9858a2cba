import { errorOf, ReelwrightError, retryAfterOf } from './errors.ts';
import { type Fetch, jsonOf, pauseOf, sleep, unreachable } from './http.ts';
import type { Upload } from './types.ts';

// Uploads in parts, several at once, each repeated by itself. What the service has of an interrupted upload is not sent
// again: `resume` names it.

export interface UploadProgress {
  readonly uploadId: string;
  readonly sentBytes: number;
  readonly totalBytes: number;
}

export interface UploadOptions {
  /** The name of the file; by default the `File`'s. */
  readonly name?: string;
  /** Bytes of a stream, which does not know them. */
  readonly size?: number;
  readonly contentType?: string;
  /** Hex digest of the whole file, which the service checks. */
  readonly sha256?: string;
  /** The title of the media that an event of the bucket makes of it; a submission has a title as an option. */
  readonly title?: string;
  /** The id of an upload that was interrupted. */
  readonly resume?: string;
  /** Parts at once; default 4. */
  readonly parallel?: number;
  readonly onProgress?: (progress: UploadProgress) => void;
  readonly signal?: AbortSignal;
}

/** A file, bytes, or a stream, whose `size` is an option. */
export type UploadSource = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;

interface Access {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For the API: repeats by itself. */
  readonly send: Fetch;
  /** For addresses of a store, which refuse the API key. */
  readonly sendPart: Fetch;
}

const partAttempts = 6;
/** A store or service that asks for more is asked again all the same: an upload must not sleep for a day. */
const waitSecMax = 60;

/** The completed upload: its `source` is the key to submit jobs with. */
export async function uploadFile(access: Access, source: UploadSource, options: UploadOptions): Promise<Upload> {
  const { signal, resume, parallel = 4 } = options;
  const given = source instanceof Uint8Array ? new Blob([source]) : source;
  const total = given instanceof Blob ? given.size : (options.size ?? 0);
  if (total < 1) throw invalid(given instanceof Blob ? 'the file is empty' : 'a stream needs the option `size`');
  const first = resume === undefined ? await begin(access, given, { ...options, size: total }) : null;
  const upload = first ?? (await call<Upload>(access, `/api/uploads/${encodeURIComponent(resume ?? '')}`, { signal }));
  if (upload.status === 'completed') return upload;
  if (upload.size !== total) throw invalid(`upload ${upload.upload_id} is of a file of ${upload.size} bytes`);
  const { upload_id: uploadId, part_size: partSize } = upload;
  let sentBytes = 0;
  const report = (bytes: number) => {
    sentBytes += bytes;
    options.onProgress?.({ uploadId, sentBytes, totalBytes: total });
  };
  report(0);
  const read = given instanceof Blob ? sliceOf(given, partSize) : piecesOf(given, partSize);
  await inParallel(
    partsOf(access, upload, signal),
    parallel,
    async (part, stop) => {
      const bytes = await read(part.number);
      if (!part.uploaded) await putPart(access, uploadId, { ...part, bytes }, stop);
      report(bytes.size);
    },
    signal,
  );
  return await complete(access, uploadId, signal);
}

async function begin(access: Access, source: Blob | ReadableStream, options: UploadOptions): Promise<Upload> {
  const isFile = source instanceof Blob && 'name' in source;
  const name = options.name ?? (isFile ? String(source.name) : '');
  if (name === '') throw invalid('the option `name` is missing');
  const type = options.contentType ?? (source instanceof Blob ? source.type : '');
  const body = {
    name,
    size: options.size,
    ...(type === '' ? {} : { content_type: type }),
    ...(options.sha256 === undefined ? {} : { sha256: options.sha256 }),
    ...(options.title === undefined ? {} : { title: options.title }),
  };
  return await call<Upload>(access, '/api/uploads', { method: 'POST', body, signal: options.signal });
}

type Part = Upload['parts'][number];

/** Every part, in order; the service lists a page of them at a time. */
async function* partsOf(access: Access, upload: Upload, signal: AbortSignal | undefined): AsyncGenerator<Part> {
  for (let page = upload; ;) {
    yield* page.parts;
    if (page.next_part === null) return;
    page = await call<Upload>(access, `/api/uploads/${upload.upload_id}?part_from=${page.next_part}`, { signal });
  }
}

/** Puts a part, again after failures; an address that has expired is asked for again. */
async function putPart(
  access: Access,
  uploadId: string,
  { number, url, bytes }: Part & { readonly bytes: Blob },
  signal: AbortSignal,
): Promise<void> {
  const headers = await digestHeaders(bytes);
  let address = new URL(url, `${access.baseUrl}/`);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await access
      .sendPart(new Request(address, { method: 'PUT', body: bytes, headers, signal }))
      .catch((error: unknown) => {
        signal.throwIfAborted();
        return unreachable(address.href, error);
      });
    if (outcome instanceof Response && outcome.ok) {
      await outcome.body?.cancel();
      return;
    }
    const error = outcome instanceof Response ? await errorOf(outcome) : outcome;
    const isHopeless = error.status >= 400 && error.status < 500 && ![403, 408, 429].includes(error.status);
    if (attempt >= partAttempts || isHopeless) throw error;
    const asked = error.retryAfterSec;
    await sleep(asked === null ? pauseOf(attempt) * 4 : Math.min(asked, waitSecMax) * 1000, signal);
    if (error.status !== 403) continue;
    const page = await call<Upload>(access, `/api/uploads/${uploadId}?part_from=${number}`, { signal });
    const again = page.parts.find((part) => part.number === number);
    if (again === undefined) throw error;
    address = new URL(again.url, `${access.baseUrl}/`);
  }
}

/**
 * The header by which a storage server refuses a part whose client died in the middle; some take its beginning for the
 * whole. Empty in browsers, which have no MD5.
 */
async function digestHeaders(bytes: Blob): Promise<Record<string, string>> {
  const crypto = globalThis.process?.getBuiltinModule?.('node:crypto');
  if (crypto === undefined) return {};
  const hash = crypto.createHash('md5').update(new Uint8Array(await bytes.arrayBuffer()));
  return { 'content-md5': hash.digest('base64') };
}

async function complete(access: Access, uploadId: string, signal: AbortSignal | undefined): Promise<Upload> {
  for (;;) {
    const request = requestOf(access, `/api/uploads/${uploadId}/complete`, { method: 'POST', signal });
    const response = await access.send(request);
    if (response.status !== 202) return await jsonOf<Upload>(response);
    // The service still checks the bytes.
    await response.body?.cancel();
    await sleep(Math.min(retryAfterOf(response) ?? 2, waitSecMax) * 1000, signal);
  }
}

/** Runs `work` for every item, at most `parallel` at once; the first failure stops the others. */
async function inParallel<Item>(
  items: AsyncGenerator<Item>,
  parallel: number,
  work: (item: Item, stop: AbortSignal) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const failed = new AbortController();
  const stop = AbortSignal.any([failed.signal, ...(signal === undefined ? [] : [signal])]);
  const worker = async () => {
    for (;;) {
      stop.throwIfAborted();
      const { done, value } = await items.next();
      if (done === true) return;
      await work(value, stop);
    }
  };
  const workers = Array.from({ length: parallel }, () =>
    worker().catch((error: unknown) => {
      failed.abort(error);
      throw error;
    }),
  );
  const ends = await Promise.allSettled(workers);
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw (failed.signal.reason ?? failure.reason) as Error;
}

function sliceOf(file: Blob, partSize: number): (number: number) => Promise<Blob> {
  return (number) => Promise.resolve(file.slice((number - 1) * partSize, number * partSize));
}

/** The parts of a stream, which are asked for in order: one is in memory for each request under way. */
function piecesOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  partSize: number,
): (number: number) => Promise<Blob> {
  const reader = stream.getReader();
  let rest = new Uint8Array();
  const readPiece = async () => {
    const pieces = [rest];
    let size = rest.length;
    while (size < partSize) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
      size += value.length;
    }
    const bytes = new Blob(pieces);
    rest = new Uint8Array(await bytes.slice(partSize).arrayBuffer());
    return bytes.slice(0, partSize);
  };
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const piece = last.then(readPiece);
    last = piece.catch(() => undefined);
    return piece;
  };
}

interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

function requestOf({ baseUrl, headers }: Access, path: string, { method = 'GET', body, signal }: Call): Request {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Request(`${baseUrl}${path}`, {
    method,
    headers: { ...headers, ...json },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  });
}

async function call<Answer>(access: Access, path: string, options: Call): Promise<Answer> {
  return await jsonOf<Answer>(await access.send(requestOf(access, path, options)));
}

function invalid(detail: string): ReelwrightError {
  return new ReelwrightError({ code: 'invalid_request', detail });
}
