import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { isJobProblem, type JobErrorCode, KnownProblem } from '#domain/errors.ts';
import { Once } from '#platform/concurrency/once.ts';
import { FewAtOnce } from '#platform/concurrency/few-at-once.ts';
import { asProblem } from '#domain/resource-problem.ts';
import { firstMessage } from '../threads/first-message.ts';
import { sharp } from './sharp.ts';

// Kinds that libvips does not decode here, or not as browsers do. ImageMagick, libheif, libde265, OpenJPEG, libjxl and
// libtiff run in WebAssembly, so an exploit of one reaches the memory of one image alone.

export type WasmKind = 'tiff' | 'bmp' | 'jp2' | 'j2k' | 'jxl' | 'heif' | 'jpeg' | 'png';

/** The limits of one image that is decoded in WebAssembly. */
export interface WasmLimits {
  readonly pixelsMax: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** How many may wait for one another; each takes much memory, so one is decoded at a time. */
  readonly waitingMax: number;
}

/** Sent to the thread as it starts. */
export interface WasmRequest {
  /** ImageMagick, compiled. */
  readonly module: object;
  readonly bytes: Uint8Array;
  readonly kind: WasmKind;
  readonly pixelsMax: number;
  readonly profiles: { readonly srgb: Uint8Array; readonly p3: Uint8Array };
}

/** Pixels in sRGB, upright, 8 bits a channel, row by row. */
export interface WasmPixels {
  readonly width: number;
  readonly height: number;
  readonly channels: 3 | 4;
  readonly data: Uint8Array;
  readonly damage?: ImageDamage;
}

/** The part that is missing of an image that is shown all the same: rows at its end, or pages after the first. */
export type ImageDamage = 'rows' | 'pages';

/** `what` is what was found: the size or kind, or the message of the decoder. */
export type WasmAnswer =
  | WasmPixels
  | {
      readonly code: Extract<JobErrorCode, 'unsupported_media' | 'corrupt_input' | 'limit_exceeded'>;
      readonly what: string;
    };

// What the decoders print is not the caller's; the runner reports on stdout.
const silent = { stdout: true, stderr: true } as const;

type Prepared = Pick<WasmRequest, 'module' | 'profiles'>;

/** Declared with the types of browsers only. */
declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<object> };

/** For all images: compiling takes four times as long as starting the thread. */
const prepared = new Once(async (): Promise<Prepared> => {
  const path = fileURLToPath(import.meta.resolve('@imagemagick/magick-wasm/magick.wasm'));
  const module = await WebAssembly.compile(await readFile(path));
  return { module, profiles: { srgb: await profileOf('srgb'), p3: await profileOf('p3') } };
});

/** The ICC profile that libvips brings along. */
async function profileOf(name: 'srgb' | 'p3'): Promise<Uint8Array> {
  const pixel = sharp({ create: { width: 1, height: 1, channels: 3, background: '#fff' } });
  const { icc } = await sharp(await pixel.withIccProfile(name).png().toBuffer()).metadata();
  if (icc === undefined) throw new Error(`sharp has no profile ${name}`);
  return icc;
}

const decoding = new FewAtOnce(1);

/**
 * Decodes an image in a thread of its own, which ends with it, or by its limits.
 *
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `limit_exceeded`, …; the reason of `signal`
 */
export async function decodeInWasm(bytes: Uint8Array, kind: WasmKind, limits: WasmLimits): Promise<WasmPixels> {
  if (decoding.isFull(limits.waitingMax)) throw new KnownProblem('busy');
  return decoding.run(() => decodeInThread(bytes, kind, limits));
}

async function decodeInThread(bytes: Uint8Array, kind: WasmKind, limits: WasmLimits): Promise<WasmPixels> {
  const { pixelsMax, timeoutMs, signal } = limits;
  signal?.throwIfAborted();
  const request = { bytes: new Uint8Array(bytes), kind, pixelsMax, ...(await prepared.get()) };
  const options = { workerData: request satisfies WasmRequest, transferList: [request.bytes.buffer], env: {} };
  const worker = new Worker(new URL('wasm-worker.ts', import.meta.url), { ...options, ...silent });
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const ended = AbortSignal.any([timeout, ...(signal === undefined ? [] : [signal])]);
    const answer = (await firstMessage(worker, ended)) as WasmAnswer;
    if ('data' in answer) return answer;
    throw problemOf(answer, kind, pixelsMax);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof KnownProblem) throw error;
    if (timeout.aborted) throw new KnownProblem('deadline_exceeded', 'The image was not decoded in time.');
    const problem = asProblem(error);
    if (isJobProblem(problem)) throw problem;
    // An abort in the decoder, such as memory of WebAssembly that is used up.
    throw new KnownProblem('corrupt_input', damagedMessage, { cause: error });
  }
}

const damagedMessage = 'The image is damaged and cannot be decoded.';

function problemOf({ code, what }: Exclude<WasmAnswer, WasmPixels>, kind: WasmKind, pixelsMax: number): KnownProblem {
  const cause = new Error(what);
  if (code === 'limit_exceeded') {
    return new KnownProblem(code, `The image has more than ${pixelsMax / 1e6} megapixels.`, { cause });
  }
  if (code === 'corrupt_input') return new KnownProblem(code, damagedMessage, { cause });
  const isNamed = what.startsWith(kind) || what === 'camera raw';
  const name = isNamed ? what : `${kind} in a coding that is not known`;
  return new KnownProblem(code, `The image is of a kind that is not supported: ${name}.`, { cause });
}
