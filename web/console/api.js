import { ReelwrightError } from '#clients/typescript/src/errors.ts';
import { dataOf, jsonOf } from '#clients/typescript/src/http.ts';
import { JobEndedError, Reelwright } from '#clients/typescript/src/index.ts';

// The API as the console uses it, by the TypeScript client. The key is in this module's memory alone: it is in no
// storage and no address, and a reload forgets it.

/** @import { Client, Fault, Fetch, Job, JobFilter, Schemas, Session } from './types.ts' */

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
 * @param {(http: Client) => Promise<{ data?: Data, error?: unknown, response: Response }>} request
 * @returns {Promise<Data>} @throws ReelwrightError
 */
export async function ask(request, { http } = signedIn().client) {
  return await dataOf(request(http));
}

/** A route that is not in the client's types: of the console alone. @param {string} path @param {object} [body] */
async function askConsole(path, body, key = signedIn().key) {
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
  await ask((http) => http.GET('/api/jobs', { params: { query: { limit: 1 } } }), client);
  /** @type {{ paths: Record<string, object> }} */
  const described = await jsonOf(await askConsole('openapi.json', undefined, key));
  const routes = Object.entries(described.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  session = { key, client, routes: new Set(routes) };
}

export function signOut(reason = '') {
  session = null;
  onSignOut(reason);
}

/** The path of a job, a rollout or whatever has an id. @param {string} id */
export const byId = (id) => ({ params: { path: { id } } });
/** The path of a media. @param {string} hash */
export const byHash = (hash) => ({ params: { path: { hash } } });

/** A page of jobs. @param {JobFilter} query @param {AbortSignal} signal */
export const getJobs = (query, signal) => ask((http) => http.GET('/api/jobs', { params: { query }, signal }));
/** A job by itself, or null where it cannot be read. @param {string} id @param {AbortSignal} signal */
export const findJob = (id, signal) =>
  ask((http) => http.GET('/api/jobs/{id}', { ...byId(id), signal })).catch(() => null);
/** Every profile, or null where the server has no such route. @param {AbortSignal} signal */
export const findProfiles = async (signal) =>
  has('GET /api/profiles') ? await ask((http) => http.GET('/api/profiles', { signal })) : null;

/** Signed addresses and tokens. @param {Schemas['ConsoleLinksRequest']} body @returns {Promise<Schemas['ConsoleLinks']>} */
export const signLinks = async (body) => await jsonOf(await askConsole('api/console/links', body));

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
