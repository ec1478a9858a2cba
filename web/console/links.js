import { has, root, signLinks } from './api.js';

// Signed addresses of images. Requests of one moment go together, since the route is limited and takes a hundred.

/** @import { ImageRequest, WaitingImage } from './types.ts' */

const batchMax = 100;
/** Asked again this long before an address expires. */
const marginMs = 60_000;

/** @type {Map<string, { address: string, untilMs: number }>} by what was asked for */
const known = new Map();
/** @type {Map<string, WaitingImage>} */
let waiting = new Map();

/** Whether the server signs for the console: one that has the surface `api` alone does not. */
export const canSign = () => has('POST /api/console/links');

/**
 * The address of an image of the media bucket; null where the server signs none or refuses.
 *
 * @param {string} key
 * @param {Omit<ImageRequest, 'key'>} options
 * @returns {Promise<string | null>}
 */
export function imageAddress(key, options = {}) {
  if (!canSign()) return Promise.resolve(null);
  const request = { key, ...options };
  const name = JSON.stringify(request);
  const found = known.get(name);
  if (found && found.untilMs > Date.now() + marginMs) return Promise.resolve(found.address);
  const same = waiting.get(name);
  if (same) return same.promise;
  /** @type {PromiseWithResolvers<string | null>} */
  const { promise, resolve } = Promise.withResolvers();
  if (waiting.size === 0) setTimeout(() => void signWaiting(), 20);
  waiting.set(name, { request, promise, resolve });
  return promise;
}

async function signWaiting() {
  const all = [...waiting];
  waiting = new Map();
  for (let from = 0; from < all.length; from += batchMax) await sign(all.slice(from, from + batchMax));
}

/** @param {[name: string, waiting: WaitingImage][]} batch */
async function sign(batch) {
  const { images } = await signLinks({ images: batch.map(([, { request }]) => request) }).catch(() => ({ images: [] }));
  for (const [index, [name, { resolve }]] of batch.entries()) {
    const image = images[index];
    if (!image) {
      resolve(null);
      continue;
    }
    const address = new URL(image.path.slice(1), root).href;
    known.set(name, { address, untilMs: Date.parse(image.expires_at) });
    resolve(address);
  }
}

/**
 * A playback token for a stream, and its ticket where it plays by tickets alone, with their end; by default for ten
 * minutes.
 *
 * @param {string} hash @param {number} [expiresInSec]
 */
export async function playback(hash, expiresInSec) {
  const duration = expiresInSec === undefined ? {} : { playback_expires_in_sec: expiresInSec };
  const { playback: made } = await signLinks({ playback: hash, ...duration });
  if (made === null) throw new Error(`The server has made no token for ${hash}.`);
  return made;
}
