import { afterEach, beforeEach, expect, it, vi } from 'vitest';

// Which signed addresses of images the console asks for, and how long it keeps each.

let asked: { readonly key: string; readonly w?: number }[][] = [];
let isRefused = false;

async function answer(request: Request): Promise<Response> {
  if (request.url.endsWith('/openapi.json')) return Response.json({ paths: { '/api/console/links': { post: {} } } });
  if (request.url.endsWith('/api/sessions')) return Response.json({ expires_at: '2999-01-01T00:00:00Z' });
  if (isRefused) return new Response(null, { status: 429 });
  const { images } = (await request.json()) as { images: (typeof asked)[number] };
  asked.push(images);
  const expires = new Date(Date.now() + 900_000).toISOString();
  return Response.json({
    images: images.map(({ key, w }) => ({ key, path: `/thumb/${key}/${w}/${asked.length}`, expires_at: expires })),
  });
}

/** The module with nothing known yet. */
async function load(isSignedIn = true) {
  vi.stubGlobal('document', { baseURI: 'http://reelwright.test/under/console/' });
  vi.stubGlobal('localStorage', { setItem: () => undefined });
  vi.stubGlobal('isSecureContext', true);
  vi.resetModules();
  const [links, { signIn }] = await Promise.all([import('./links.js'), import('./api.js')]);
  if (isSignedIn) await signIn('key-1');
  return links;
}

beforeEach(() => {
  [asked, isRefused] = [[], false];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  vi.stubGlobal('fetch', answer);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function after<T>(promises: Promise<T>[]): Promise<T[]> {
  await vi.advanceTimersByTimeAsync(50);
  return await Promise.all(promises);
}

it('images of one moment are asked for together, each once, at most a hundred in a request', async () => {
  const { imageAddress } = await load();
  const keys = Array.from({ length: 150 }, (_, index) => `k-${index}`);
  const found = await after([...keys, 'k-0'].map((key) => imageAddress(key, { w: 1 })));
  expect(asked.map(({ length }) => length)).toEqual([100, 50]);
  expect(found[0]).toBe('http://reelwright.test/under/thumb/k-0/1/1');
  expect(found.at(-1)).toBe(found[0]);
  expect(found[149]).toBe('http://reelwright.test/under/thumb/k-149/1/2');
  expect(await after([imageAddress('k-0', { w: 2 })])).toEqual(['http://reelwright.test/under/thumb/k-0/2/3']);
});

it('an address is kept until a minute before it expires', async () => {
  const { imageAddress } = await load();
  const [first] = await after([imageAddress('k')]);
  await vi.advanceTimersByTimeAsync(838_000);
  expect(await imageAddress('k')).toBe(first);
  await vi.advanceTimersByTimeAsync(3_000);
  const [second] = await after([imageAddress('k')]);
  expect(second).not.toBe(first);
});

it('an image whose address is refused is asked for again later, and none where the server does not sign', async () => {
  const { imageAddress } = await load();
  isRefused = true;
  expect(await after([imageAddress('k')])).toEqual([null]);
  isRefused = false;
  expect(await after([imageAddress('k')])).toEqual([expect.stringContaining('/thumb/k/')]);
  const other = await load(false);
  expect([other.canSign(), await other.imageAddress('k')]).toEqual([false, null]);
});
