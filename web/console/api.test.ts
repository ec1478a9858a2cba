import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Reelwright } from '#clients/typescript/src/index.ts';

// How the console calls the API: its session, refusals, and the events of a job.

type Answer = Response | Error | (() => Response);
let answers: Answer[] = [];
let sent: { readonly call: string; readonly path: string; readonly headers: Headers }[] = [];

async function answer({ method, url, headers }: Request): Promise<Response> {
  const path = new URL(url).pathname.slice('/under'.length);
  sent.push({ call: `${method} ${path}`, path, headers });
  const next = answers.shift() ?? new Response(null, { status: 204 });
  if (next instanceof Error) throw next;
  return next instanceof Response ? next : next();
}

const held = new Map<string, string>();
const localStorage = {
  getItem: (name: string) => held.get(name) ?? null,
  setItem: (name: string, value: string) => void held.set(name, value),
  removeItem: (name: string) => void held.delete(name),
};
/** The answer to the beginning or renewal of a session that holds for so long. */
const session = (rights = ['admin'], leftMs = 900_000) =>
  Response.json({ key_name: 'acme', rights, expires_at: new Date(Date.now() + leftMs).toISOString() });

async function load() {
  vi.stubGlobal('document', { baseURI: 'http://reelwright.test/under/console/' });
  vi.resetModules();
  return await import('./api.js');
}

const pools = (http: Reelwright['http']) => http.GET('/api/pools');

/** The module after a sign-in, whose requests are not counted. */
async function signedIn(paths: object = {}) {
  const module = await load();
  answers = [session(), Response.json({ paths })];
  await module.signIn('key-1');
  sent = [];
  return module;
}

const problem = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ code: 'a_code', detail: 'A detail.' }, { status, headers });

beforeEach(() => {
  [answers, sent] = [[], []];
  held.clear();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  vi.stubGlobal('fetch', answer);
  vi.stubGlobal('localStorage', localStorage);
  vi.stubGlobal('isSecureContext', true);
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

const ended = 'The session has ended.';

it('C35.22: a key is sent once, in exchange for a session, by which all other requests go', async () => {
  const module = await load();
  answers = [session(), Response.json({ paths: { '/api/pools': { get: {} } } })];
  await module.signIn('key-1');
  await module.ask(pools);
  await module.signLinks({ images: [] }).catch(() => null);
  expect(
    sent.map(({ call, headers }) => [call, headers.get('x-api-key'), headers.get('x-reelwright-session')]),
  ).toEqual([
    ['POST /api/sessions', 'key-1', null],
    ['GET /openapi.json', null, '1'],
    ['GET /api/pools', null, '1'],
    ['POST /api/console/links', null, '1'],
  ]);
  expect(JSON.stringify([...held])).not.toContain('key-1');
  expect([module.session()?.key_name, module.may('delete')]).toEqual(['acme', true]);
});

it('a key that is refused begins nothing, nor does one that no header can hold', async () => {
  const { signIn, statusOf, session: current, whenSignedOut } = await load();
  const reasons: string[] = [];
  whenSignedOut((reason) => reasons.push(reason));
  const status = (call: Promise<unknown>) => call.then(() => 200, statusOf);
  answers = [problem(401)];
  expect([await status(signIn('key-2')), await status(signIn('ключ'))]).toEqual([401, 401]);
  expect([current(), reasons, sent.length, held.size]).toEqual([null, [], 1, 0]);
});

it('C35.22: a session that has ended is forgotten, with the reason', async () => {
  const { ask, has, statusOf, whenSignedOut } = await signedIn({ '/api/pools': { get: {} } });
  const reasons: string[] = [];
  whenSignedOut((reason) => reasons.push(reason));
  expect([has('GET /api/pools'), has('POST /api/pools')]).toEqual([true, false]);
  const status = (call: Promise<unknown>) => call.then(() => 200, statusOf);
  answers = [problem(403), problem(401)];
  expect([await status(ask(pools)), reasons]).toEqual([403, []]);
  expect([await status(ask(pools)), reasons]).toEqual([401, [ended]]);
  await expect(ask(pools)).rejects.toMatchObject({ code: 'unauthorized' });
  expect([sent.length, has('GET /api/pools'), held.size]).toEqual([2, false, 0]);
});

it('C35.22: an open page renews its session every five minutes, and goes on where a renewal is not answered', async () => {
  const { session: current, whenSignedOut } = await signedIn();
  const reasons: string[] = [];
  whenSignedOut((reason) => reasons.push(reason));
  answers = [new Error('refused'), session(['read']), problem(401)];
  await vi.advanceTimersByTimeAsync(600_000);
  expect(sent.map(({ call }) => call)).toEqual(['POST /api/sessions', 'POST /api/sessions']);
  expect([current()?.rights, reasons]).toEqual([['read'], []]);
  await vi.advanceTimersByTimeAsync(300_000);
  expect([current(), reasons]).toEqual([null, [ended]]);
  await vi.advanceTimersByTimeAsync(900_000);
  expect(sent).toHaveLength(3);
});

it('C35.22: a reload goes on with the session of the browser, and says when it has ended', async () => {
  await signedIn();
  const reloaded = await load();
  const reasons: string[] = [];
  reloaded.whenSignedOut((reason) => reasons.push(reason));
  answers = [session(['read']), Response.json({ paths: {} })];
  expect([await reloaded.resume(), reloaded.may('read'), reloaded.may('admin')]).toEqual([true, true, false]);
  answers = [problem(401)];
  expect([await (await load()).resume(), held.size]).toEqual([false, 0]);
  held.set('reelwright-session-ends', new Date(0).toISOString());
  sent = [];
  const later = await load();
  later.whenSignedOut((reason) => reasons.push(reason));
  expect([await later.resume(), await later.resume(), reasons, sent]).toEqual([false, false, [ended], []]);
});

it('C35.22: signing out ends the session, and the next one begins after its answer', async () => {
  const { signIn, signOut, whenSignedOut } = await signedIn();
  const reasons: string[] = [];
  whenSignedOut((reason) => reasons.push(reason));
  const { promise: answered, resolve: end } = Promise.withResolvers<void>();
  vi.stubGlobal('fetch', async (request: Request) => {
    const given = await answer(request);
    if (request.method === 'DELETE') await answered;
    return given;
  });
  answers = [new Response(null, { status: 204 }), session(), Response.json({ paths: {} })];
  const both = [signOut(), signIn('key-2')];
  await vi.advanceTimersByTimeAsync(10);
  expect([sent.map(({ call }) => call), reasons]).toEqual([['DELETE /api/sessions'], ['']]);
  end();
  await Promise.all(both);
  expect(sent.map(({ call }) => call)).toEqual(['DELETE /api/sessions', 'POST /api/sessions', 'GET /openapi.json']);
  answers = [new Error('refused')];
  await signOut();
  expect(reasons.at(-1)).toMatch(/^The server did not end the session: it ends at \d/);
});

it('where the browser keeps no session, which plain HTTP to another host is, the key is not sent', async () => {
  const { signIn } = await load();
  vi.stubGlobal('isSecureContext', false);
  await expect(signIn('key-1')).rejects.toMatchObject({ code: 'insecure' });
  expect(sent).toEqual([]);
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
