import { errorOf, ReelwrightError } from '#clients/typescript/src/errors.ts';
import { jsonOf } from '#clients/typescript/src/http.ts';
import { JobEndedError, Reelwright } from '#clients/typescript/src/index.ts';

// The API as the console uses it, by the TypeScript client. The key is in this module's memory alone: it is in no
// storage and no address, and a reload forgets it.

/**
 * @import { Client } from 'openapi-fetch'
 * @import { Fetch } from '#clients/typescript/src/http.ts'
 * @import { Job, JobFilter, MediaChange, MediaFilesFilter, operations, paths, Schemas, Submission } from '#clients/typescript/src/index.ts'
 */

/**
 * @typedef {{ pointer: string, detail: string }} Fault of a field of a request
 * @typedef {{ key: string, client: Reelwright, routes: ReadonlySet<string> }} Session
 * @typedef {NonNullable<operations['listRollouts']['parameters']['query']>} RolloutFilter
 */

/** The service's base address; not `/` where a proxy mounts the service under a path. */
export const root = new URL('..', document.baseURI);

/** @type {Session | null} */
let session = null;

/** @param {unknown} [cause] */
export const unreachable = (cause) =>
  new ReelwrightError({
    code: 'unreachable',
    detail: 'The server cannot be reached. Check that it is running.',
    ...(cause === undefined ? {} : { cause }),
  });

const redirected = () =>
  new ReelwrightError({
    code: 'redirected',
    detail: `A proxy redirects ${root.origin}, and the key is not sent elsewhere. Open the console at the service’s own address.`,
  });

/** The text of an error, for a person. @param {unknown} problem */
export function textOf(problem) {
  const text = problem instanceof ReelwrightError ? problem.detail : problem instanceof Error ? problem.message : '';
  return text === '' ? 'It failed.' : `${text[0]?.toUpperCase()}${text.slice(1)}`;
}

/** The faults of fields that a refusal names. @param {unknown} problem @returns {readonly Fault[]} */
export const faultsOf = (problem) => (problem instanceof ReelwrightError ? problem.errors : []);

/** @param {unknown} problem */
export const statusOf = (problem) => (problem instanceof ReelwrightError ? problem.status : 0);

/** Seconds that the server asks to wait. @param {unknown} problem */
export const retryAfterOf = (problem) => (problem instanceof ReelwrightError ? (problem.retryAfterSec ?? 0) : 0);

/**
 * `fetch` with the words of the console for what has no answer.
 *
 * @type {Fetch}
 */
export async function send(request) {
  const response = await fetch(request, { cache: 'no-cache' }).catch((error) => {
    request.signal.throwIfAborted();
    throw unreachable(error);
  });
  // The client follows none: the key would go along.
  if (response.type === 'opaqueredirect') throw redirected();
  const key = request.headers.get('x-api-key');
  if (response.status === 401 && session !== null && key === session.key)
    signOut('This key is not accepted any longer.');
  return response;
}

/** @param {string} key @param {Fetch} fetch */
const clientOf = (key, fetch, retry = {}) => new Reelwright({ baseUrl: root.href, apiKey: key, fetch, retry });

/** @returns {Session} */
function signedIn() {
  if (session === null) throw new ReelwrightError({ code: 'unauthorized', detail: 'Sign in first.' });
  return session;
}

/** A client that asks again where the service is away for a moment. @param {Fetch} fetch */
export const patientClient = (fetch) => clientOf(signedIn().key, fetch);

/**
 * The data of an answer. A request is sent once: who looks at a page sees at once that the service is away.
 *
 * @template Data
 * @param {(http: Client<paths>) => Promise<{ data?: Data, error?: unknown, response: Response }>} request
 * @returns {Promise<NonNullable<Data>>} @throws ReelwrightError
 */
async function answerOf(request, { http } = signedIn().client) {
  const { data, error, response } = await request(http);
  if (response.ok && data !== undefined && data !== null) return data;
  const { status, headers } = response;
  const text = typeof error === 'string' ? error : JSON.stringify(error ?? null);
  throw await errorOf(new Response(text, { status, headers }));
}

/** A route that is not in the client's types: of the console alone. @param {string} path @param {object} [body] */
async function ask(path, body, key = signedIn().key) {
  const more = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  return await send(new Request(new URL(path, root), { headers, redirect: 'manual', ...more }));
}

/** Whether the server has the route, such as `DELETE /api/media/{hash}`. @param {string} route */
export const has = (route) => session?.routes.has(route) ?? false;

/** @type {(reason: string) => void} */
let onSignOut = () => undefined;
/** Called with a reason when the key is forgotten. @param {(reason: string) => void} call */
export const whenSignedOut = (call) => (onSignOut = call);

/** @param {string} key @throws ReelwrightError when the key is refused */
export async function signIn(key) {
  // No header can hold it, so no server has it.
  if (/[^\u0020-\u00ff]/.test(key)) throw new ReelwrightError({ status: 401, code: 'unauthorized', detail: '' });
  const client = clientOf(key, send, { attempts: 1 });
  await answerOf((http) => http.GET('/api/jobs', { params: { query: { limit: 1 } } }), client);
  /** @type {{ paths: Record<string, object> }} */
  const described = await jsonOf(await ask('openapi.json', undefined, key));
  const routes = Object.entries(described.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  session = { key, client, routes: new Set(routes) };
}

export function signOut(reason = '') {
  session = null;
  onSignOut(reason);
}

/** @param {string} id */
const byId = (id) => ({ params: { path: { id } } });
/** @param {string} hash */
const byHash = (hash) => ({ params: { path: { hash } } });
/** @typedef {AbortSignal | null} Signal */

export const api = {
  /** @param {JobFilter} query @param {Signal} signal */
  jobs: (query, signal = null) => answerOf((http) => http.GET('/api/jobs', { params: { query }, signal })),
  /** @param {string} id @param {Signal} signal */
  job: (id, signal = null) => answerOf((http) => http.GET('/api/jobs/{id}', { ...byId(id), signal })),
  /** With `results_missing` and `source_changed`, for which the server asks the buckets. @param {string} id */
  checkedJob: (id) =>
    answerOf((http) => http.GET('/api/jobs/{id}', { params: { path: { id }, query: { check: 'source,results' } } })),
  /** `profile`: '' for the one that the rules choose. @param {Submission} body */
  submit: (body, profile = '') =>
    answerOf((http) =>
      http.POST('/api/jobs', { body, params: { header: profile === '' ? {} : { 'X-Profile': profile } } }),
    ),
  /** @param {string} id */
  retry: (id) => answerOf((http) => http.POST('/api/jobs/{id}/retry', byId(id))),
  /** @param {string} id */
  cancel: (id) => answerOf((http) => http.POST('/api/jobs/{id}/cancel', byId(id))),
  /** @param {string} id */
  rerun: (id) => answerOf((http) => http.POST('/api/jobs/{id}/rerun', { ...byId(id), body: {} })),
  /** @param {string} id */
  callbacks: (id) => answerOf((http) => http.GET('/api/jobs/{id}/callbacks', byId(id))),
  /** @param {string} id */
  redeliver: (id) => answerOf((http) => http.POST('/api/jobs/{id}/callbacks/redeliver', byId(id))),
  /** @param {Schemas['ConsoleLinksRequest']} body @returns {Promise<Schemas['ConsoleLinks']>} */
  links: async (body) => await jsonOf(await ask('api/console/links', body)),
  /** @param {string} hash */
  media: (hash) => answerOf((http) => http.GET('/api/media/{hash}', byHash(hash))),
  /** @param {string} hash @param {MediaFilesFilter} query */
  mediaFiles: (hash, query) =>
    answerOf((http) => http.GET('/api/media/{hash}/files', { params: { path: { hash }, query } })),
  /** @param {string} hash */
  mediaPlayback: (hash) => answerOf((http) => http.GET('/api/media/{hash}/playback', byHash(hash))),
  /** @param {string} hash @param {MediaChange} body */
  changeMedia: (hash, body) => answerOf((http) => http.PATCH('/api/media/{hash}', { ...byHash(hash), body })),
  /** @param {string} hash @param {string} revision */
  chooseRevision: (hash, revision) =>
    answerOf((http) => http.PUT('/api/media/{hash}/current', { ...byHash(hash), body: { revision } })),
  /** @param {string} hash */
  deleteMedia: (hash) => answerOf((http) => http.DELETE('/api/media/{hash}', byHash(hash))),
  /** @param {string} id @param {Signal} signal */
  chunks: (id, signal = null) => answerOf((http) => http.GET('/api/jobs/{id}/chunks', { ...byId(id), signal })),
  /** @param {string} id @param {Signal} signal */
  timeline: (id, signal = null) => answerOf((http) => http.GET('/api/jobs/{id}/timeline', { ...byId(id), signal })),
  /** @param {Signal} signal */
  pools: (signal = null) => answerOf((http) => http.GET('/api/pools', { signal })),
  /** @param {Signal} signal */
  profiles: (signal = null) => answerOf((http) => http.GET('/api/profiles', { signal })),
  /** @param {string} name @param {Signal} signal */
  profile: (name, signal = null) =>
    answerOf((http) => http.GET('/api/profiles/{name}', { params: { path: { name } }, signal })),
  /** @param {Schemas['ProfileCheckRequest']} body @param {Signal} signal */
  checkProfiles: (body, signal = null) => answerOf((http) => http.POST('/api/profiles/check', { body, signal })),
  /** @param {RolloutFilter} query @param {Signal} signal */
  rollouts: (query, signal = null) => answerOf((http) => http.GET('/api/rollouts', { params: { query }, signal })),
  /** @param {string} id @param {Signal} signal */
  rollout: (id, signal = null) => answerOf((http) => http.GET('/api/rollouts/{id}', { ...byId(id), signal })),
  /** @param {Schemas['CreateRolloutRequest']} body */
  beginRollout: (body) => answerOf((http) => http.POST('/api/rollouts', { body })),
  /** @param {string} id @param {'pause' | 'resume' | 'cancel' | 'rollback'} action */
  changeRollout: (id, action) => answerOf((http) => http.POST(`/api/rollouts/{id}/${action}`, byId(id))),
};

/**
 * Follows a job by its events until it has ended or `signal` is aborted. A refusal ends it in silence: what was shown
 * stays.
 *
 * @param {string} id @param {(job: Job) => void} onProgress @param {AbortSignal} signal
 */
export async function followJob(id, onProgress, signal) {
  const options = { onProgress, signal, outageSecMax: Number.POSITIVE_INFINITY };
  await signedIn()
    .client.waitFor(id, options)
    .catch((error) => {
      if (error instanceof JobEndedError || error instanceof ReelwrightError || signal.aborted) return;
      throw error;
    });
}
