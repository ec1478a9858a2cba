import { api } from './api.js';

// Uploads a file by the routes of `POST /api/uploads`: parts at once, each tried again, with progress.

const partsAtOnce = 3;
const tries = 4;

/** Between two questions whether the completion, which may take longer than a request, is done. */
const completionPauseMs = 2000;

/**
 * @param onProgress is called with the share that is uploaded, 0 to 1
 * @returns the `source` of the uploaded object
 */
export async function uploadFile(file, { onProgress, signal }) {
  const type = file.type === '' ? {} : { content_type: file.type };
  const begun = await api.beginUpload({ name: file.name, size: file.size, ...type });
  // The first part that fails for good ends the others.
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const sent = new Map();
  const report = (number, bytes) => {
    sent.set(number, bytes);
    onProgress([...sent.values()].reduce((sum, each) => sum + each, 0) / Math.max(1, file.size));
  };
  try {
    const waiting = partsOf(begun, both);
    const sendRest = async () => {
      for await (const { number, url } of waiting) {
        const from = (number - 1) * begun.part_size;
        const piece = file.slice(from, Math.min(file.size, from + begun.part_size));
        await sendPart(url, piece, { signal: both, onBytes: (bytes) => report(number, bytes) });
      }
    };
    await Promise.all(Array.from({ length: partsAtOnce }, sendRest));
    return await complete(begun.upload_id, both);
  } catch (error) {
    ending.abort();
    void api.abortUpload(begun.upload_id).catch(() => undefined);
    throw error;
  }
}

/** Every part, in order; the service lists a page of them at a time. */
async function* partsOf(begun, signal) {
  for (let page = begun; ; page = await api.upload(begun.upload_id, page.next_part, signal)) {
    yield* page.parts;
    if (page.next_part === null) return;
  }
}

/** @returns the `source`, once the service has checked and put together the object */
async function complete(id, signal) {
  for (;;) {
    signal.throwIfAborted();
    const { status, source } = await api.completeUpload(id);
    if (status === 'completed') return source;
    await new Promise((resolve) => setTimeout(resolve, completionPauseMs));
  }
}

async function sendPart(url, piece, options) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await put(url, piece, options);
      return;
    } catch (error) {
      if (options.signal.aborted || attempt === tries) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt));
    }
  }
}

/** `fetch` reports no progress of a body. */
function put(url, piece, { signal, onBytes }) {
  return new Promise((resolve, reject) => {
    // It may have been stopped in the pause before another try.
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    request.open('PUT', url);
    request.upload.addEventListener('progress', ({ loaded }) => onBytes(loaded));
    request.addEventListener('load', () => {
      if (request.status < 200 || request.status > 299) reject(new Error(`A part was refused: ${request.status}.`));
      else {
        onBytes(piece.size);
        resolve();
      }
    });
    request.addEventListener('error', () => reject(new Error('A part could not be uploaded.')));
    request.addEventListener('abort', () => reject(new Error('The upload was stopped.')));
    const stop = () => request.abort();
    signal.addEventListener('abort', stop);
    request.addEventListener('loadend', () => signal.removeEventListener('abort', stop));
    request.send(piece);
  });
}

/** A hash for a file: what its name allows, and something that no other upload has. */
export function hashFor(name) {
  const stem = name
    .replace(/\.[^.]*$/, '')
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._~-]+/g, '-');
  const safe = stem.replaceAll(/^[^A-Za-z0-9]+|-+$/g, '').slice(0, 80);
  const random = [...crypto.getRandomValues(new Uint8Array(3))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
  return `${safe === '' ? 'media' : safe}-${random}`;
}
