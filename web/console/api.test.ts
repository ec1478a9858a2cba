import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Reelwright } from '#clients/typescript/src/index.ts';

// How the console calls the API: its key, refusals, and the events of a job.

type Answer = Response | Error | (() => Response);
let answers: Answer[] = [];
let sent: { readonly path: string; readonly headers: Headers }[] = [];

async function answer({ url, headers }: Request): Promise<Response> {
  sent.push({ path: new URL(url).pathname.slice('/under'.length), headers });
  const next = answers.shift() ?? new Response(null, { status: 204 });
  if (next instanceof Error) throw next;
  return next instanceof Response ? next : next();
}

async function load() {
  vi.stubGlobal('document', { baseURI: 'http://reelwright.test/under/console/' });
  vi.resetModules();
  return await import('./api.js');
}

const pools = (http: Reelwright['http']) => http.GET('/api/pools');

/** The module after a sign-in, whose requests are not counted. */
async function signedIn(paths: object = {}) {
  const module = await load();
  answers = [Response.json({ jobs: [] }), Response.json({ paths })];
  await module.signIn('key-1');
  sent = [];
  return module;
}

const problem = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ code: 'a_code', detail: 'A detail.' }, { status, headers });

beforeEach(() => {
  [answers, sent] = [[], []];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.stubGlobal('fetch', answer);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('C28.9: a redirect is not followed, which would take the key along, and the reason is said', async () => {
  const { ask, signIn, signLinks, textOf } = await signedIn();
  const asked: string[] = [];
  vi.stubGlobal('fetch', ({ redirect }: Request) => {
    asked.push(redirect);
    return Promise.resolve({ ok: false, status: 0, type: 'opaqueredirect' });
  });
  for (const call of [() => signIn('key-2'), () => ask(pools), () => signLinks({ images: [] })]) {
    const refused = await call().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'redirected' });
    expect(textOf(refused)).toContain('A proxy redirects');
  }
  expect(asked).toEqual(['manual', 'manual', 'manual']);
});

it('a problem has what the server says, and without a document its status; nothing is asked twice', async () => {
  const { ask, faultsOf, retryAfterOf, statusOf, textOf } = await signedIn();
  const faults = [{ pointer: '/hash', code: 'pattern', detail: 'is wrong' }];
  answers = [
    Response.json({ code: 'invalid_request', detail: 'It is wrong.', errors: faults }, { status: 400 }),
    problem(429, { 'retry-after': '7' }),
    new Response('<h1>Bad Gateway</h1>', { status: 502 }),
    new Error('refused'),
  ];
  const refused = async () => {
    const error = await ask(pools).catch((thrown: unknown) => thrown);
    return [statusOf(error), textOf(error), faultsOf(error), retryAfterOf(error)];
  };
  expect(await refused()).toEqual([400, 'It is wrong.', faults, 0]);
  expect(await refused()).toEqual([429, 'A detail.', [], 7]);
  expect(await refused()).toEqual([502, expect.stringContaining('answered 502'), [], 0]);
  expect(await refused()).toEqual([0, 'The server cannot be reached. Check that it is running.', [], 0]);
  expect(sent).toHaveLength(4);
});

it('a key that is refused later is forgotten, with the reason; another one that is refused is not', async () => {
  const { ask, has, signIn, statusOf, whenSignedOut } = await signedIn({ '/api/pools': { get: {} } });
  const reasons: string[] = [];
  whenSignedOut((reason) => reasons.push(reason));
  expect([has('GET /api/pools'), has('POST /api/pools')]).toEqual([true, false]);
  const status = (call: Promise<unknown>) => call.then(() => 200, statusOf);
  answers = [problem(401)];
  expect(await status(signIn('key-2'))).toBe(401);
  expect(await status(signIn('ключ'))).toBe(401);
  expect(reasons).toEqual([]);
  answers = [problem(403), problem(401)];
  expect(await status(ask(pools))).toBe(403);
  expect(reasons).toEqual([]);
  expect(await status(ask(pools))).toBe(401);
  expect(reasons).toEqual(['This key is not accepted any longer.']);
  expect(sent.map(({ headers }) => headers.get('x-api-key'))).toEqual(['key-2', 'key-1', 'key-1']);
  await expect(ask(pools)).rejects.toMatchObject({ code: 'unauthorized' });
  expect([sent.length, has('GET /api/pools')]).toEqual([3, false]);
});

it('a job is followed until it has ended, however it ends, and a refusal is no fault', async () => {
  const { followJob } = await signedIn();
  const job = { job_id: 'j-1', status: 'processing', progress: 10, updated_at: '1' };
  const failed = { ...job, status: 'failed', progress: 20, updated_at: '2' };
  const text = [job, failed].map((each, id) => `id: ${id}\nevent: job\ndata: ${JSON.stringify(each)}\n\n`).join('');
  answers = [new Response(text, { headers: { 'content-type': 'text/event-stream' } }), problem(404)];
  const seen: number[] = [];
  const { signal } = new AbortController();
  await followJob('j/1', ({ progress }) => seen.push(progress), signal);
  expect([seen, sent.map(({ path }) => path)]).toEqual([[10, 20], ['/api/jobs/j%2F1/events']]);
  await followJob('j-2', () => seen.push(0), signal);
  expect(seen).toEqual([10, 20]);
});
