// The page's input and the addresses that it requests. The input is the fragment of the page's address
// (`#hash=…&token=…`): browsers do not send the fragment, so a token in it reaches no request and no server log.

const hashPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

/** The service's base address; not `/` when a proxy mounts the service under a path. */
const root = new URL('..', document.baseURI);

/** An image of this service (`/thumb`), relative to `root`. */
const posterPattern = /^thumb\/[\w-]+\/[\w-]+(?:\?[\w=&-]*)?$/;

/**
 * What the page plays.
 *
 * @typedef {object} Choice
 * @property {string} hash '' without a stream
 * @property {string} token a playback token, or ''
 * @property {string} poster an address, or ''
 * @property {boolean} isEmbedded the page is in a frame of another page and shows the player alone
 */

/** @returns {Choice} */
export function readFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  const poster = given.get('poster') ?? '';
  return {
    hash: given.get('hash') ?? '',
    token: given.get('token') ?? '',
    poster: posterPattern.test(poster) ? new URL(poster, root).href : '',
    isEmbedded: given.get('embedded') === '1',
  };
}

/**
 * Writes the choice into the fragment, which makes the page play it; an unchanged choice starts again.
 *
 * @param {Pick<Choice, 'hash' | 'token'>} choice
 */
export function writeFragment({ hash, token }) {
  const fragment = new URLSearchParams({ hash });
  if (token !== '') fragment.set('token', token);
  const before = new URLSearchParams(location.hash.slice(1));
  const poster = before.get('poster');
  // The poster is of the media.
  if (before.get('hash') === hash && poster !== null) fragment.set('poster', poster);
  if (readFragment().isEmbedded) fragment.set('embedded', '1');
  if (location.hash === `#${fragment}`) window.dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = String(fragment);
}

/** @param {string} hash */
export const masterAddress = (hash) => new URL(`stream/${encodeURIComponent(hash)}/master.m3u8`, root).href;

/**
 * The poster of an audio-only stream.
 *
 * @param {string} hash
 */
export const waveformAddress = (hash) => new URL(`stream/${encodeURIComponent(hash)}/waveform.webp`, root).href;

/** @param {string} hash */
export const keyAddress = (hash) => new URL(`api/key/${encodeURIComponent(hash)}`, root).href;

/** @typedef {'key' | 'stream' | 'part'} AddressKind */

/**
 * What an address is of: the `key`, on any host; the `stream`'s own list; or a `part` of the stream, which is a segment,
 * an init segment or the playlist of a track.
 *
 * @param {string} uri
 * @param {string} hash
 * @returns {AddressKind}
 */
export function kindOfAddress(uri, hash) {
  const path = new URL(uri, root).pathname;
  if (path.endsWith(`/api/key/${encodeURIComponent(hash)}`)) return 'key';
  return path.endsWith('/master.m3u8') ? 'stream' : 'part';
}

/**
 * Reads the user's input: a hash, or a job as `GET /api/jobs/{id}` answers it. Jobs are pasted and not fetched, since
 * that route needs the API key, which must not reach a browser.
 *
 * @param {string} text
 * @returns {{hash: string, fault: null} | {hash: null, fault: string}}
 */
export function readPick(text) {
  const given = text.trim();
  if (!given.startsWith('{'))
    return hashPattern.test(given) ? { hash: given, fault: null } : fault('Enter a media hash or the JSON of a job.');
  /** @type {{hash?: unknown, type?: string, status?: string, results?: {streaming?: unknown} | null}} */
  let job;
  try {
    job = JSON.parse(given);
  } catch {
    return fault('This JSON is incomplete: paste the whole job.');
  }
  const { hash, type = 'no type', status = 'no status', results } = job;
  if (typeof hash !== 'string' || !hashPattern.test(hash)) return fault('This job has no valid `hash`.');
  if (results?.streaming) return { hash, fault: null };
  if (['queued', 'processing'].includes(status))
    return fault(`This job is still ${status}: wait until it is completed.`);
  return fault(`This job (${type}, ${status}) has no stream.`);
}

/**
 * @param {string} text
 * @returns {{hash: null, fault: string}}
 */
function fault(text) {
  return { hash: null, fault: text };
}
