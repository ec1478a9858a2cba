// The API as the console uses it. The key is in this module's memory alone: it is in no storage and no address, and a
// reload forgets it.

/** The service's base address; not `/` where a proxy mounts the service under a path. */
export const root = new URL('..', document.baseURI);

let key = '';
/** `POST /api/jobs` and the like, as `/openapi.json` lists them. */
let routes = new Set();

/** An answer that refuses, or none. `faults`: `[{pointer, code, detail}]` of the fields of the request. */
export class ApiProblem extends Error {
  constructor({ status, code, detail, faults = [], retryAfterSec = 0 }) {
    super(detail);
    this.name = 'ApiProblem';
    this.status = status;
    this.code = code;
    this.faults = faults;
    this.retryAfterSec = retryAfterSec;
  }
}

export const unreachable = () =>
  new ApiProblem({ status: 0, code: 'unreachable', detail: 'The server cannot be reached. Check that it is running.' });

const redirected = () =>
  new ApiProblem({
    status: 0,
    code: 'redirected',
    detail: `A proxy redirects ${root.origin}, and the key is not sent elsewhere. Open the console at the service’s own address.`,
  });

async function problemOf(response) {
  const retryAfterSec = Number(response.headers.get('retry-after') ?? 0);
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    // No problem document: a proxy has answered.
  }
  const detail = problem.detail ?? problem.title ?? `The server answered ${response.status}.`;
  return new ApiProblem({
    status: response.status,
    code: problem.code ?? '',
    detail,
    faults: problem.errors,
    retryAfterSec,
  });
}

async function send(path, { method = 'GET', body, headers = {}, signal, withKey = key } = {}) {
  let response;
  try {
    response = await fetch(new URL(path, root), {
      method,
      signal,
      cache: 'no-cache',
      // The key stays here: `fetch` would send it to whatever a proxy redirects to.
      redirect: 'manual',
      headers: {
        'x-api-key': withKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
  if (response.ok) return response;
  if (response.type === 'opaqueredirect') throw redirected();
  const problem = await problemOf(response);
  if (problem.status === 401 && withKey === key && key !== '') signOut('This key is not accepted any longer.');
  throw problem;
}

async function json(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : await response.json();
}

/** Whether the server has the route, such as `DELETE /api/media/{hash}`. */
export const has = (route) => routes.has(route);

/** Called with a reason when the key is forgotten. */
let onSignOut = () => {};
export const whenSignedOut = (call) => (onSignOut = call);

/** @throws ApiProblem when the key is refused */
export async function signIn(given) {
  // No header can hold it, so no server has it.
  if (/[^\u0020-\u00ff]/.test(given)) throw new ApiProblem({ status: 401, code: 'unauthorized', detail: '' });
  await json('api/jobs?limit=1', { withKey: given });
  const described = await json('openapi.json', { withKey: given });
  routes = new Set(
    Object.entries(described.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    ),
  );
  key = given;
}

export function signOut(reason = '') {
  key = '';
  onSignOut(reason);
}

const segment = (text) => encodeURIComponent(text);
const query = (fields) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return String(new URLSearchParams(given));
};

export const api = {
  jobs: (filter, signal) => json(`api/jobs?${query(filter)}`, { signal }),
  job: (id, signal) => json(`api/jobs/${segment(id)}`, { signal }),
  /** With `results_missing` and `source_changed`, for which the server asks the buckets. */
  checkedJob: (id) => json(`api/jobs/${segment(id)}?check=source,results`),
  /** `profile`: '' for the one that the rules choose. */
  submit: (body, profile = '') =>
    json('api/jobs', { method: 'POST', body, headers: profile === '' ? {} : { 'x-profile': profile } }),
  retry: (id) => json(`api/jobs/${segment(id)}/retry`, { method: 'POST' }),
  cancel: (id) => json(`api/jobs/${segment(id)}/cancel`, { method: 'POST' }),
  rerun: (id) => json(`api/jobs/${segment(id)}/rerun`, { method: 'POST', body: {} }),
  callbacks: (id) => json(`api/jobs/${segment(id)}/callbacks`),
  redeliver: (id) => json(`api/jobs/${segment(id)}/callbacks/redeliver`, { method: 'POST' }),
  links: (body) => json('api/console/links', { method: 'POST', body }),
  media: (hash) => json(`api/media/${segment(hash)}`),
  mediaFiles: (hash, filter, signal) => json(`api/media/${segment(hash)}/files?${query(filter)}`, { signal }),
  mediaPlayback: (hash) => json(`api/media/${segment(hash)}/playback`),
  changeMedia: (hash, body) => json(`api/media/${segment(hash)}`, { method: 'PATCH', body }),
  chooseRevision: (hash, revision) => json(`api/media/${segment(hash)}/current`, { method: 'PUT', body: { revision } }),
  deleteMedia: (hash) => json(`api/media/${segment(hash)}`, { method: 'DELETE' }),
  chunks: (id, signal) => json(`api/jobs/${segment(id)}/chunks`, { signal }),
  timeline: (id, signal) => json(`api/jobs/${segment(id)}/timeline`, { signal }),
  pools: (signal) => json('api/pools', { signal }),
  profiles: (signal) => json('api/profiles', { signal }),
  profile: (name, signal) => json(`api/profiles/${segment(name)}`, { signal }),
  checkProfiles: (body, signal) => json('api/profiles/check', { method: 'POST', body, signal }),
  rollouts: (filter, signal) => json(`api/rollouts?${query(filter)}`, { signal }),
  rollout: (id, signal) => json(`api/rollouts/${segment(id)}`, { signal }),
  beginRollout: (body) => json('api/rollouts', { method: 'POST', body }),
  changeRollout: (id, action) => json(`api/rollouts/${segment(id)}/${action}`, { method: 'POST' }),
  beginUpload: (body) => json('api/uploads', { method: 'POST', body }),
  upload: (id, partFrom, signal) => json(`api/uploads/${segment(id)}?${query({ part_from: partFrom })}`, { signal }),
  completeUpload: (id) => json(`api/uploads/${segment(id)}/complete`, { method: 'POST' }),
  abortUpload: (id) => json(`api/uploads/${segment(id)}`, { method: 'DELETE' }),
};

const reconnectMs = 2000;
const isFinalRefusal = ({ status }) => status >= 400 && status < 500 && status !== 429;

/**
 * Follows a job by its Server-Sent Events until it has ended or `signal` is aborted. `EventSource` sends no headers, so
 * the stream is read here.
 */
export async function followJob(id, onJob, signal) {
  let lastId = '';
  while (!signal.aborted) {
    try {
      const headers = lastId === '' ? {} : { 'last-event-id': lastId };
      const response = await send(`api/jobs/${segment(id)}/events`, { headers, signal });
      if (response.status === 204) return;
      for await (const event of eventsOf(response.body)) {
        lastId = event.id ?? lastId;
        if (event.data !== undefined) onJob(JSON.parse(event.data));
      }
    } catch (problem) {
      if (signal.aborted || isFinalRefusal(problem)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, reconnectMs));
  }
}

async function* eventsOf(body) {
  let text = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const blocks = text.split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const fields = block
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
      yield Object.fromEntries(fields);
    }
  }
}
