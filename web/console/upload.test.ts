import { afterEach, beforeEach, expect, it, vi } from 'vitest';

// Uploads of the console, by a store and a service that answer as each case says.

interface Put {
  readonly url: string;
  readonly text: string;
}

const partSize = 4;
const file = new File(['aaaabbbbccccddddee'], 'a b.mp4', { type: 'video/mp4' });
let puts: Put[] = [];
let openMost = 0;
let open: Set<object>;
let calls: string[] = [];
/** The status that a part is answered with; 0 for none, -1 for no end. */
let answerOf: (url: string, tries: number) => number;
let completions: { status?: string; source?: string }[] = [];

class Sending extends EventTarget {
  status = 0;
  readonly responseText = '';
  readonly upload = new EventTarget();
  #url = '';
  #isOpen = false;

  open(_method: string, url: string): void {
    this.#url = url;
  }

  getResponseHeader(): null {
    return null;
  }

  /** Node, which has MD5, sends this one; browsers send no header with a part. */
  setRequestHeader(name: string): void {
    expect(name).toBe('content-md5');
  }

  send(piece: Blob): void {
    this.#isOpen = true;
    open.add(this);
    openMost = Math.max(openMost, open.size);
    void piece.text().then((text) => setImmediate(() => this.#answer(text)));
  }

  #answer(text: string): void {
    this.#url = new URL(this.#url).pathname.slice('/under'.length);
    puts.push({ url: this.#url, text });
    const status = answerOf(this.#url, puts.filter(({ url }) => url === this.#url).length);
    this.upload.dispatchEvent(Object.assign(new Event('progress'), { loaded: 1 }));
    if (status === -1) return;
    this.status = status;
    this.#end(status === 0 ? 'error' : 'load');
  }

  abort(): void {
    this.#end('abort');
  }

  #end(name: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    open.delete(this);
    for (const each of [name, 'loadend']) this.dispatchEvent(new Event(each));
  }
}

const partsFrom = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    number: from + index,
    uploaded: false,
    url: `../under/part/${from + index}`,
  }));

/** The routes of uploads, which list three parts a page. */
async function answer({ url, method }: Request): Promise<Response> {
  const path = url.slice('http://reelwright.test/under'.length);
  calls.push(`${method} ${path}`);
  if (path === '/api/sessions') return Response.json({ expires_at: '2999-01-01T00:00:00Z' });
  if (path.startsWith('/openapi')) return Response.json({ paths: {} });
  if (method === 'DELETE') return new Response(null, { status: 204 });
  if (path.endsWith('/complete')) {
    const { status, ...upload } = completions.shift() ?? {};
    return Response.json({ ...upload, status }, { status: status === 'completed' ? 200 : 202 });
  }
  const upload = {
    upload_id: 'u-1',
    status: 'open',
    size: file.size,
    part_size: partSize,
    source: 'uploads/u-1/a-b.mp4',
  };
  if (method === 'POST') return Response.json({ ...upload, parts: partsFrom(1, 3), next_part: 4 });
  return Response.json({ ...upload, parts: partsFrom(4, 5), next_part: null });
}

async function begin(signal: AbortSignal = new AbortController().signal) {
  vi.stubGlobal('document', { baseURI: 'http://reelwright.test/under/console/' });
  vi.stubGlobal('localStorage', { setItem: () => undefined });
  vi.stubGlobal('isSecureContext', true);
  vi.resetModules();
  const [{ uploadFile }, { signIn }] = await Promise.all([import('./upload.js'), import('./api.js')]);
  await signIn('key-1');
  calls = [];
  const shares: number[] = [];
  const ended = uploadFile(file, { signal, onProgress: (share) => shares.push(share) }).then(({ source }) => source);
  return { ended, shares };
}

/** Lets the pauses end, as many as there are until the promise is settled. */
async function settled(promise: Promise<string>) {
  const outcomes: PromiseSettledResult<string>[] = [];
  void Promise.allSettled([promise]).then((settledOnes) => outcomes.push(...settledOnes));
  while (outcomes.length === 0) await vi.advanceTimersByTimeAsync(500);
  return outcomes[0];
}

beforeEach(() => {
  [puts, calls, openMost, open] = [[], [], 0, new Set()];
  answerOf = () => 200;
  completions = [{ status: 'completed', source: 'uploads/u-1/a-b.mp4' }];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.stubGlobal('XMLHttpRequest', Sending);
  vi.stubGlobal('fetch', answer);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('the parts of every page are put, three at once, and the upload is complete when the service says so', async () => {
  completions = [{ status: 'open' }, { status: 'completed', source: 'uploads/u-1/done.mp4' }];
  const { ended, shares } = await begin();
  expect(await settled(ended)).toMatchObject({ value: 'uploads/u-1/done.mp4' });
  expect(puts.toSorted((a, b) => a.url.localeCompare(b.url))).toEqual(
    ['aaaa', 'bbbb', 'cccc', 'dddd', 'ee'].map((text, index) => ({ url: `/part/${index + 1}`, text })),
  );
  expect(openMost).toBe(3);
  expect([shares.at(-1), Math.max(...shares)]).toEqual([1, 1]);
  expect(calls).toEqual([
    'POST /api/uploads',
    'GET /api/uploads/u-1?part_from=4',
    'POST /api/uploads/u-1/complete',
    'POST /api/uploads/u-1/complete',
  ]);
});

it('a part that is refused or lost is put again, up to six times', async () => {
  answerOf = (url, tries) => (url === '/part/2' && tries < 6 ? ([503, 0, 500, 503, 0][tries - 1] ?? 200) : 200);
  const { ended } = await begin();
  expect(await settled(ended)).toMatchObject({ value: 'uploads/u-1/a-b.mp4' });
  expect(puts.filter(({ url }) => url === '/part/2')).toHaveLength(6);
});

it('a part that fails for good ends the other parts, and removes the upload', async () => {
  answerOf = (url) => (url === '/part/2' ? 400 : -1);
  const { ended, shares } = await begin();
  expect(await settled(ended)).toMatchObject({ reason: { status: 400 } });
  const before = shares.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([open.size, shares.length]).toEqual([0, before]);
  expect(puts.map(({ url }) => url).toSorted()).toEqual(['/part/1', '/part/2', '/part/3']);
  expect(calls).toEqual(['POST /api/uploads', 'DELETE /api/uploads/u-1']);
});

it('an upload that is stopped ends its parts, and is removed', async () => {
  answerOf = () => -1;
  const stopping = new AbortController();
  const { ended } = await begin(stopping.signal);
  await vi.waitFor(() => expect(puts).toHaveLength(3));
  stopping.abort();
  expect(await settled(ended)).toMatchObject({ status: 'rejected' });
  expect([open.size, calls]).toEqual([0, ['POST /api/uploads', 'DELETE /api/uploads/u-1']]);
});

it('the hash for a file is what its name allows, and something that no other upload has', async () => {
  vi.stubGlobal('document', { baseURI: 'http://reelwright.test/under/console/' });
  vi.stubGlobal('localStorage', { setItem: () => undefined });
  vi.stubGlobal('isSecureContext', true);
  const { hashFor } = await import('./upload.js');
  const names = ['Holiday in Zürich.final.mp4', '..hidden.mov', '日本.mp4', `${'x'.repeat(200)}.mp4`];
  const stems = names.map((name) => hashFor(name).replace(/-[0-9a-f]{6}$/, ''));
  expect(stems).toEqual(['Holiday-in-Zu-rich.final', 'hidden', 'media', 'x'.repeat(80)]);
  expect(hashFor('a.mp4')).not.toBe(hashFor('a.mp4'));
});
