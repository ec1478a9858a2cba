// What the page is asked to play, and where that lies. The fragment of the address (`#hash=…&token=…`) is the page's
// whole input: browsers keep it to themselves, so a token in it is in no request and in no server's log.

const hashPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

/** The folder that the service is mounted under: `/` unless a proxy puts it deeper. */
const root = new URL('..', document.baseURI);

/** @returns {{hash: string, token: string, engine: 'shaka' | 'hls'}} */
export function readFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  return {
    hash: given.get('hash') ?? '',
    token: given.get('token') ?? '',
    engine: given.get('engine') === 'hls' ? 'hls' : 'shaka',
  };
}

/** Puts a choice into the address, which makes the page play it. Equal choices start anew as well. */
export function writeFragment({ hash, token, engine }) {
  const fragment = new URLSearchParams({ hash });
  if (token !== '') fragment.set('token', token);
  if (engine === 'hls') fragment.set('engine', engine);
  if (location.hash === `#${fragment}`) window.dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = String(fragment);
}

export const masterAddress = (hash) => new URL(`stream/${encodeURIComponent(hash)}/master.m3u8`, root).href;

export const keyAddress = (hash) => new URL(`api/key/${encodeURIComponent(hash)}`, root).href;

/** Whether a key's URI, as a playlist says it, is the key endpoint of `hash`, on whichever host the playlist names. */
export function isKeyAddress(uri, hash) {
  return new URL(uri, root).pathname.endsWith(`/api/key/${encodeURIComponent(hash)}`);
}

/**
 * Reads what was typed or pasted: a hash, or a job as `GET /api/jobs/{id}` answers it. The job is pasted rather than
 * fetched, since its route takes the API key, which no browser may hold.
 *
 * @returns {{hash: string} | {fault: string}}
 */
export function readPick(text) {
  const given = text.trim();
  if (!given.startsWith('{'))
    return hashPattern.test(given) ? { hash: given } : { fault: 'This is neither a media hash nor a job.' };
  let job;
  try {
    job = JSON.parse(given);
  } catch {
    return { fault: 'This looks like a job, but it is not whole: paste all of the JSON.' };
  }
  if (typeof job.hash !== 'string' || !hashPattern.test(job.hash)) return { fault: 'This job names no media hash.' };
  if (job.results?.streaming) return { hash: job.hash };
  if (['queued', 'processing'].includes(job.status))
    return { fault: `This job is still ${job.status}: it has no stream yet.` };
  return { fault: `This job (${job.type ?? 'of no type'}, ${job.status ?? 'no status'}) made no stream.` };
}
