// The page's input and the addresses that it requests. The input is the fragment of the page's address
// (`#hash=…&token=…&ticket=…&title=…&t=…`): browsers do not send the fragment. A token in it reaches the key endpoint alone, and a
// ticket the addresses of the stream that it opens.

const hashPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

/** The service's base address; not `/` when a proxy mounts the service under a path. */
const root = new URL('..', document.baseURI);

/** An image of this service (`/thumb`), relative to `root`. */
const posterPattern = /^thumb\/[\w-]+\/[\w-]+(?:\?[\w=&.-]*)?$/;

/**
 * The choice of what the page plays.
 *
 * @typedef {object} Choice
 * @property {string} hash '' without a stream
 * @property {string} token a playback token, or ''
 * @property {string} ticket of a signed stream, or ''
 * @property {string} poster an address, or ''
 * @property {string} title what whoever made the link calls it, or ''
 * @property {number} startSec where it begins, in seconds
 * @property {boolean} isClean the page shows the title and the player, and its details when they are asked for
 * @property {boolean} isEmbedded the page is in a frame of another page and shows the player alone
 */

/** @returns {Choice} */
export function readFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  const poster = given.get('poster') ?? '';
  return {
    hash: given.get('hash') ?? '',
    token: given.get('token') ?? '',
    ticket: given.get('ticket') ?? '',
    poster: posterPattern.test(poster) ? new URL(poster, root).href : '',
    title: (given.get('title') ?? '').slice(0, titleLengthMax),
    startSec: secondsOf(given.get('t') ?? ''),
    isClean: given.get('clean') === '1',
    isEmbedded: given.get('embedded') === '1',
  };
}

/** More than any title that the service stores, in UTF-16. */
const titleLengthMax = 512;

/**
 * A time of a link: seconds (`90`, `90s`), `1m30s` or `1:30`; 0 for what is none.
 *
 * @param {string} text
 */
function secondsOf(text) {
  const [, hours, minutes, seconds] =
    /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?$/.exec(text) ??
    /^(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)$/.exec(text) ??
    [];
  return Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
}

/**
 * Writes the choice into the fragment, which makes the page play it; an unchanged choice starts again.
 *
 * @param {Pick<Choice, 'hash' | 'token' | 'ticket'>} choice
 */
export function writeFragment({ hash, token, ticket }) {
  const fragment = new URLSearchParams({ hash });
  if (token !== '') fragment.set('token', token);
  if (ticket !== '') fragment.set('ticket', ticket);
  const before = new URLSearchParams(location.hash.slice(1));
  // Both are of the media.
  for (const name of ['poster', 'title']) {
    const value = before.get(name);
    if (before.get('hash') === hash && value !== null) fragment.set(name, value);
  }
  if (readFragment().isClean) fragment.set('clean', '1');
  if (readFragment().isEmbedded) fragment.set('embedded', '1');
  if (location.hash === `#${fragment}`) window.dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = String(fragment);
}

/**
 * @param {Pick<Choice, 'hash' | 'ticket'>} choice
 * @param {'master.m3u8' | 'waveform.webp'} name the playlist, or the poster of an audio-only stream
 */
export function streamAddress({ hash, ticket }, name) {
  const folder = ticket === '' ? 'stream' : `s/${encodeURIComponent(ticket)}`;
  return new URL(`${folder}/${encodeURIComponent(hash)}/${name}`, root).href;
}

/**
 * An address of a signed stream with the newest ticket in the place of the one that it has; any other as it is.
 *
 * @param {string} uri
 * @param {Pick<Choice, 'hash' | 'ticket'>} choice
 */
export function withTicket(uri, { hash, ticket }) {
  const ending = `/${encodeURIComponent(hash)}/`;
  return uri.replace(/\/s\/[^/]+(\/[^/]+\/)/, (whole, rest) =>
    rest === ending && ticket !== '' ? `/s/${encodeURIComponent(ticket)}${rest}` : whole,
  );
}

/** @param {string} hash */
export const keyAddress = (hash) => new URL(`api/key/${encodeURIComponent(hash)}`, root).href;

/** @typedef {'key' | 'stream' | 'part'} AddressKind */

/**
 * The kind of an address: the `key`, on any host; the `stream`'s own list; or a `part` of the stream, which is a
 * segment, an init segment or the playlist of a track.
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

const signedAddressPattern = /\/s\/([\w.~-]+)\/([^/]+)\/[^/]/;

/**
 * Reads the user's input: a hash, an address of a signed stream, or a job as `GET /api/jobs/{id}` answers it. Jobs are pasted and not fetched, since
 * that route needs the API key, which must not reach a browser.
 *
 * @param {string} text
 * @returns {{hash: string, ticket?: string, fault: null} | {hash: null, ticket?: undefined, fault: string}}
 */
export function readPick(text) {
  const given = text.trim();
  if (!given.startsWith('{')) {
    const [, ticket = '', hash = given] = signedAddressPattern.exec(given) ?? [];
    return hashPattern.test(hash) ? { hash, ticket, fault: null } : fault('Enter a media hash or the JSON of a job.');
  }
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
