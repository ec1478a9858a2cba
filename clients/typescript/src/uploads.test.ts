import { afterEach, expect, it, vi } from 'vitest';
import type { Fetch } from './http.ts';
import { uploadFile } from './uploads.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** An upload of two parts of ten bytes, as a service shows it. */
const shown = (more: object = {}) => ({
  upload_id: 'u',
  status: 'open',
  size: 20,
  part_size: 10,
  parts: [1, 2].map((number) => ({ number, url: `/put/${number}`, uploaded: false })),
  next_part: null,
  ...more,
});
const file = new Blob(['a'.repeat(20)]);
const none: Record<string, string> = { 'retry-after': '0' };

const pathOf = ({ url }: Request) => url.replace('http://service.test', '');

/** The access of `uploadFile` to a service that answers so, and the paths that it was asked for. */
function accessOf(answer: (path: string) => Response | Promise<Response>, putPart: Fetch) {
  const asked: string[] = [];
  const puts: string[] = [];
  const access = {
    baseUrl: 'http://service.test',
    headers: { 'x-api-key': 'k' },
    send: async (request: Request) => {
      asked.push(pathOf(request));
      return await answer(pathOf(request));
    },
    sendPart: async (request: Request) => {
      puts.push(pathOf(request));
      return await putPart(request);
    },
  };
  return { access, asked, puts };
}
const stored = () => Promise.resolve(new Response(null));

it('a part whose address has expired is put to the address that it has now', async () => {
  const { access, puts } = accessOf(
    (path) => {
      if (path.endsWith('/complete')) return Response.json(shown({ status: 'completed' }));
      const parts = [2].map((number) => ({ number, url: `/put/${number}?again`, uploaded: false }));
      return Response.json(path.includes('part_from=2') ? shown({ parts }) : shown());
    },
    (request) => Promise.resolve(new Response(null, { status: request.url.endsWith('/2') ? 403 : 200, headers: none })),
  );
  expect((await uploadFile(access, file, { name: 'a', parallel: 1 })).status).toBe('completed');
  expect(puts).toEqual(['/put/1', '/put/2', '/put/2?again']);
});

it('a part has its MD5 with it, by which a store refuses one that was cut', async () => {
  const digests: (string | null)[] = [];
  const { access } = accessOf(
    (path) => Response.json(shown({ status: path.endsWith('/complete') ? 'completed' : 'open' })),
    (request) => {
      digests.push(request.headers.get('content-md5'));
      return stored();
    },
  );
  await uploadFile(access, new Blob(['a'.repeat(10), 'b'.repeat(10)]), { name: 'a', parallel: 1 });
  expect(digests).toEqual(['4JyAxC/aVfnZkuWcprMwfQ==', 'ghNrQkDWzk6n0D5RRpo5Ow==']);
});

it.each([
  [500, 6],
  [429, 6],
  [400, 1],
  [413, 1],
])('a part that a store answers with %i is put %i times, and then the upload fails', async (status, times) => {
  const refused = () => Promise.resolve(new Response(null, { status, headers: none }));
  const { access, puts } = accessOf(() => Response.json(shown()), refused);
  await expect(uploadFile(access, file, { name: 'a', parallel: 1 })).rejects.toMatchObject({ status });
  expect(puts).toHaveLength(times);
});

it('a part that cannot be put ends the parts that are under way', async () => {
  const { access } = accessOf(
    () => Response.json(shown()),
    (request) =>
      request.url.endsWith('/1')
        ? Promise.resolve(new Response(null, { status: 400 }))
        : new Promise((_, reject) => {
            request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
          }),
  );
  await expect(uploadFile(access, file, { name: 'a', parallel: 2 })).rejects.toMatchObject({ status: 400 });
});

it.each([19, 21])('an upload of %i bytes is not resumed with a file of 20', async (size) => {
  const { access, puts } = accessOf(() => Response.json(shown({ size })), stored);
  await expect(uploadFile(access, file, { resume: 'u' })).rejects.toThrow(`${size} bytes`);
  expect(puts).toEqual([]);
});

it('an upload that has completed is not sent again', async () => {
  const { access, asked, puts } = accessOf(() => Response.json(shown({ status: 'completed' })), stored);
  expect((await uploadFile(access, file, { resume: 'u' })).status).toBe('completed');
  expect([asked, puts]).toEqual([['/api/uploads/u'], []]);
});

it('an upload is done once the service has checked its bytes, which it is asked for again', async () => {
  let completions = 0;
  const { access } = accessOf((path) => {
    if (!path.endsWith('/complete')) return Response.json(shown());
    completions += 1;
    const status = completions < 3 ? 'completing' : 'completed';
    return Response.json(shown({ status }), { status: completions < 3 ? 202 : 200, headers: none });
  }, stored);
  expect((await uploadFile(access, file, { name: 'a' })).status).toBe('completed');
  expect(completions).toBe(3);
});

// A timer of more than 24.8 days would run at once.
it.each(['86400', '2592000'])('a service that asks for %s seconds to check bytes has a minute', async (header) => {
  vi.useFakeTimers();
  let completions = 0;
  const { access } = accessOf((path) => {
    if (!path.endsWith('/complete')) return Response.json(shown());
    completions += 1;
    const status = completions === 1 ? 202 : 200;
    return Response.json(shown({ status: 'completed' }), { status, headers: { 'retry-after': header } });
  }, stored);
  const uploaded = uploadFile(access, file, { name: 'a' });
  await vi.advanceTimersByTimeAsync(59_000);
  expect(completions).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([(await uploaded).status, completions]).toEqual(['completed', 2]);
});
