import { patientClient, send } from './api.js';

// Uploads a file by the client, with the progress of the bytes within each part.

/** @import { Upload } from './types.ts' */

const partsAtOnce = 3;

/**
 * The object that came of a file; its `source` is what to submit.
 *
 * @param {File} file
 * @param {{ onProgress: (share: number) => void, signal: AbortSignal }} options `onProgress` has the share, 0 to 1
 * @returns {Promise<Upload>}
 */
export async function uploadFile(file, { onProgress, signal }) {
  let uploadId = '';
  let sentBytes = 0;
  /** @type {Map<Request, number>} */
  const underWay = new Map();
  const report = () => {
    const bytes = [...underWay.values()].reduce((sum, each) => sum + each, sentBytes);
    onProgress(Math.min(1, bytes / file.size));
  };
  /** @param {Request} part @param {number} bytes */
  const sentOf = (part, bytes) => {
    underWay.set(part, bytes);
    report();
  };
  const client = patientClient((request) =>
    request.method === 'PUT' ? put(request, (bytes) => sentOf(request, bytes)) : send(request),
  );
  try {
    return await client.upload(file, {
      parallel: partsAtOnce,
      signal,
      onProgress(progress) {
        ({ uploadId, sentBytes } = progress);
        report();
      },
    });
  } catch (error) {
    if (uploadId !== '') void client.deleteUpload(uploadId).catch(() => undefined);
    throw error;
  }
}

/**
 * `fetch` of a part, which reports no progress of a body.
 *
 * @param {Request} part
 * @param {(bytes: number) => void} onBytes
 * @returns {Promise<Response>}
 */
async function put(part, onBytes) {
  const body = await part.blob();
  return await new Promise((resolve, reject) => {
    part.signal.throwIfAborted();
    const sending = new XMLHttpRequest();
    const stop = () => sending.abort();
    sending.open(part.method, part.url);
    for (const [name, value] of part.headers) sending.setRequestHeader(name, value);
    sending.upload.addEventListener('progress', ({ loaded }) => onBytes(loaded));
    sending.addEventListener('load', () => {
      const { status, responseText } = sending;
      const after = sending.getResponseHeader('retry-after');
      const headers = new Headers(after === null ? {} : { 'retry-after': after });
      resolve(new Response(responseText === '' ? null : responseText, { status, headers }));
    });
    sending.addEventListener('error', () => reject(new Error('a part could not be uploaded')));
    sending.addEventListener('abort', () => reject(new Error('the upload was stopped')));
    // What the client counts as sent is no longer under way.
    sending.addEventListener('loadend', () => {
      onBytes(0);
      part.signal.removeEventListener('abort', stop);
    });
    part.signal.addEventListener('abort', stop);
    sending.send(body);
  });
}

/** A hash for a file: what its name allows, and something that no other upload has. @param {string} name */
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
