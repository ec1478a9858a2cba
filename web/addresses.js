// The page's input and the addresses that it requests. The input is the fragment of the page's address
// (`#hash=…&token=…`): browsers do not send the fragment, so a token in it reaches no request and no server log.

const hashPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

/** The service's base address; not `/` when a proxy mounts the service under a path. */
const root = new URL('..', document.baseURI);

/** An image of this service (`/thumb`), relative to `root`. */
const posterPattern = /^thumb\/[\w-]+\/[\w-]+(?:\?[\w=&-]*)?$/;

/**
 * `poster` is an address or ''.
 *
 * `isEmbedded`: the page is in a frame of another page and shows the player alone.
 *
 * @returns {{hash: string, token: string, poster: string, isEmbedded: boolean}}
 */
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

/** Writes the choice into the fragment, which makes the page play it; an unchanged choice starts again. */
export function writeFragment({ hash, token }) {
  const fragment = new URLSearchParams({ hash });
  if (token !== '') fragment.set('token', token);
  const before = new URLSearchParams(location.hash.slice(1));
  // The poster is of the media.
  if (before.get('hash') === hash && before.has('poster')) fragment.set('poster', before.get('poster'));
  if (readFragment().isEmbedded) fragment.set('embedded', '1');
  if (location.hash === `#${fragment}`) window.dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = String(fragment);
}

export const masterAddress = (hash) => new URL(`stream/${encodeURIComponent(hash)}/master.m3u8`, root).href;

/** The poster of an audio-only stream. */
export const waveformAddress = (hash) => new URL(`stream/${encodeURIComponent(hash)}/waveform.webp`, root).href;

export const keyAddress = (hash) => new URL(`api/key/${encodeURIComponent(hash)}`, root).href;

/**
 * What an address is of: the `key`, on any host; the `stream`'s own list; or a `part` of the stream, which is a segment,
 * an init segment or the playlist of a track.
 *
 * @returns {'key' | 'stream' | 'part'}
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
 * @returns {{hash: string} | {fault: string}}
 */
export function readPick(text) {
  const given = text.trim();
  if (!given.startsWith('{'))
    return hashPattern.test(given) ? { hash: given } : { fault: 'Enter a media hash or the JSON of a job.' };
  let job;
  try {
    job = JSON.parse(given);
  } catch {
    return { fault: 'This JSON is incomplete: paste the whole job.' };
  }
  if (typeof job.hash !== 'string' || !hashPattern.test(job.hash)) return { fault: 'This job has no valid `hash`.' };
  if (job.results?.streaming) return { hash: job.hash };
  if (['queued', 'processing'].includes(job.status))
    return { fault: `This job is still ${job.status}: wait until it is completed.` };
  return { fault: `This job (${job.type ?? 'no type'}, ${job.status ?? 'no status'}) has no stream.` };
}
