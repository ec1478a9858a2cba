import { ReelwrightError } from '#clients/typescript/src/errors.ts';
import { dataOf, jsonOf } from '#clients/typescript/src/http.ts';
import { JobEndedError, Reelwright } from '#clients/typescript/src/index.ts';

// The API as the console uses it, by the TypeScript client. The page has no key: it exchanges the one that is typed in
// for a session, whose secret is in a cookie that no script reads.

/** @import { Client, Fault, Fetch, Job, JobFilter, Schemas, SignedIn } from './types.ts' */

/** The service's base address; not `/` where a proxy mounts the service under a path. */
export const root = new URL('..', document.baseURI);

/** @type {SignedIn | null} */
let signedIn = null;

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
    detail: `A proxy redirects ${root.origin}, and nothing is sent elsewhere. Open the console at the service’s own address.`,
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
  if (response.type === 'opaqueredirect') throw redirected();
  if (response.status === 401 && request.headers.has('x-reelwright-session')) leave('The session has ended.');
  return response;
}

/** @param {Fetch} fetch */
const clientOf = (fetch, retry = {}) => new Reelwright({ baseUrl: root.href, apiKey: null, fetch, retry });

/** @returns {SignedIn} */
function current() {
  if (signedIn === null) throw new ReelwrightError({ code: 'unauthorized', detail: 'Sign in first.' });
  return signedIn;
}

/** A client that asks again where the service is away for a moment. @param {Fetch} fetch */
export const patientClient = (fetch) => current() && clientOf(fetch);

/**
 * The data of an answer. A request is sent once: who looks at a page sees at once that the service is away.
 *
 * @template Data
 * @param {(http: Client) => Promise<{ data?: Data, error?: unknown, response: Response }>} request
 * @returns {Promise<Data>} @throws ReelwrightError
 */
export async function ask(request, { http } = current().client) {
  return await dataOf(request(http));
}

/**
 * Sends what is not in the client's types, or with another credential.
 *
 * @param {string} path @param {RequestInit} init @param {Record<string, string>} headers
 */
const sendTo = (path, init = {}, headers = { 'x-reelwright-session': '1' }) =>
  send(new Request(new URL(path, root), { redirect: 'manual', ...init, headers }));

/** Whether the server has the route, such as `DELETE /api/media/{hash}`, or its parameter: `GET /api/media?q`. @param {string} route */
export const has = (route) => signedIn?.routes.has(route) ?? false;
/** The session: its key, its rights and its end; null when nobody is signed in. */
export const session = () => signedIn?.session ?? null;
/** Whether the session has a right. @param {Schemas['Session']['rights'][number]} right */
export const may = (right) => ['admin', right].some((each) => signedIn?.session.rights.some((own) => own === each));

/** @type {(reason: string) => void} */
let onSignOut = () => undefined;
/** Called with a reason when the session has ended. @param {(reason: string) => void} call */
export const whenSignedOut = (call) => (onSignOut = call);

/** Three renewals are in the time that a session holds. */
const renewalMs = 5 * 60_000;
/** When the session of this browser ends, and nothing of its secret: a first visit need not ask whether there is one. */
const endsKey = 'reelwright-session-ends';
/** @type {ReturnType<typeof setInterval> | undefined} */
let renewal;
/** The end of a session that is under way: its answer takes the cookie, and must not take that of the next session. */
let ending = Promise.resolve();

/** The answer to the exchange of a key, or without one to a renewal. @param {Record<string, string>} [credential] */
async function askSession(credential) {
  /** @type {Schemas['Session']} */
  const answer = await jsonOf(await sendTo('api/sessions', { method: 'POST' }, credential));
  localStorage.setItem(endsKey, answer.expires_at);
  return answer;
}

/** @param {Schemas['Session']} answer */
async function enter(answer) {
  /** @type {{ paths: Record<string, Record<string, { parameters?: { name: string }[] }>> }} */
  const described = await jsonOf(await sendTo('openapi.json'));
  const routes = Object.entries(described.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { parameters = [] }]) => {
      const route = `${method.toUpperCase()} ${path}`;
      return [route, ...parameters.map(({ name }) => `${route}?${name}`)];
    }),
  );
  signedIn = { session: answer, client: clientOf(send, { attempts: 1 }), routes: new Set(routes) };
  clearInterval(renewal);
  renewal = setInterval(() => void renew(), renewalMs);
}

/** Renews the session; what the server does not answer is asked again at the next renewal. */
async function renew() {
  const answer = await askSession().catch(() => null);
  if (answer !== null && signedIn !== null) signedIn = { ...signedIn, session: answer };
}

/** Exchanges a key for a session, and keeps nothing of it. @param {string} key @throws ReelwrightError when it is refused */
export async function signIn(key) {
  if (!isSecureContext)
    throw new ReelwrightError({
      code: 'insecure',
      detail: `A browser keeps no session of ${root.origin}. Open the console by https://, or by http://localhost.`,
    });
  // No header can hold it, so no server has it.
  if (/[^\u0020-\u00ff]/.test(key)) throw new ReelwrightError({ status: 401, code: 'unauthorized', detail: '' });
  await ending;
  await enter(await askSession({ 'x-api-key': key }));
}

/** Goes on with the session that this browser has; false without one. @returns {Promise<boolean>} */
export async function resume() {
  const ends = localStorage.getItem(endsKey);
  if (ends === null) return false;
  try {
    if (Date.parse(ends) <= Date.now()) leave('The session has ended.');
    else await enter(await askSession());
  } catch (problem) {
    if (statusOf(problem) !== 401) onSignOut(textOf(problem));
  }
  return signedIn !== null;
}

/** Ends the session here and on the server. */
export async function signOut() {
  const ends = localStorage.getItem(endsKey);
  leave('');
  const isEnded = sendTo('api/sessions', { method: 'DELETE' }).then(
    ({ ok, status }) => ok || status === 401,
    () => false,
  );
  ending = isEnded.then(() => undefined);
  if (!(await isEnded)) onSignOut(`The server did not end the session: it ends at ${ends ?? 'its time'}.`);
}

/** Forgets the session, of which the browser may still have the cookie. @param {string} reason */
function leave(reason) {
  signedIn = null;
  clearInterval(renewal);
  localStorage.removeItem(endsKey);
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
export const signLinks = async (body) =>
  await jsonOf(
    await sendTo(
      'api/console/links',
      { method: 'POST', body: JSON.stringify(body) },
      { 'x-reelwright-session': '1', 'content-type': 'application/json' },
    ),
  );

/**
 * Follows a job by its events until it has ended or `signal` is aborted. A refusal ends it in silence: what was shown
 * stays.
 *
 * @param {string} id @param {(job: Job) => void} onProgress @param {AbortSignal} signal
 */
export async function followJob(id, onProgress, signal) {
  const options = { onProgress, signal, outageSecMax: Number.POSITIVE_INFINITY };
  await current()
    .client.waitFor(id, options)
    .catch((error) => {
      if (error instanceof JobEndedError || error instanceof ReelwrightError || signal.aborted) return;
      throw error;
    });
}
