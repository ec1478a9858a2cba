import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeKey, type MadeKey } from '../../testing/named-keys.ts';
import type { ApiUnderTest } from './api-under-test.ts';
import { operationsOf, startWholeApi } from './keys-rig.ts';
import { thumbnailResults } from './results.ts';

// docs/reference/contract.md, "Keys": a key with a prefix and what others own.

let api: ApiUnderTest;
let acme: MadeKey;
let other: MadeKey;
/** The things that a key owns, by the names of path parameters. */
interface Owned {
  readonly job: string;
  readonly upload: string;
  readonly import: string;
  readonly hash: string;
}
const owned = new Map<string, Owned>();

const rights = ['read', 'submit', 'upload', 'import', 'delete', 'publish'] as const;
const send = (key: MadeKey, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  api.call(path, {
    method,
    headers: {
      'x-api-key': key.text,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const plain = (text: string) => JSON.stringify({ ...JSON.parse(text), trace_id: '', instance: '' });
const links = (body: unknown) => send(acme, 'POST', '/api/console/links', body);
/** Status and detail of an answer to making a job again. */
const again = async (key: MadeKey, id: string, how: 'retry' | 'rerun', body?: object) => {
  const { status, json } = await send(key, 'POST', `/api/jobs/${id}/${how}`, body ?? {});
  return [status, json.detail ?? ''];
};
const image = (hash: string) => ({ images: [{ key: `images/ab/${hash}/0123456789abcdef/a.jpg` }] });
const thumbnail = (hash: string, source = 'a.jpg') => ({ type: 'image:thumbnail', hash, source });

async function ownSomething(key: MadeKey): Promise<Owned> {
  const hash = `${key.hashPrefix}secret`;
  const submitted = await send(key, 'POST', '/api/jobs', thumbnail(hash));
  expect(submitted.status).toBe(202);
  await api.complete(submitted.json.job_id, thumbnailResults);
  const upload = await send(key, 'POST', '/api/uploads', { name: `${key.name}.mp4`, size: 10 });
  const imported = await send(key, 'POST', '/api/imports', { url: `https://a.example/${key.name}.mp4` });
  expect([upload.status, imported.status]).toEqual([201, 202]);
  return { hash, job: submitted.json.job_id, upload: upload.json.upload_id, import: imported.json.import_id };
}

beforeAll(async () => {
  api = await startWholeApi();
  acme = await makeKey(api.d.database, { name: 'acme', rights, hashPrefix: 'acme-' });
  other = await makeKey(api.d.database, { name: 'other', rights, hashPrefix: 'other-' });
  for (const key of [acme, other]) owned.set(key.name, await ownSomething(key));
});
afterAll(() => api.close());

/** The path with what `of` owns in place of its parameters. */
function pathTo(path: string, of: Owned): string {
  const id = path.startsWith('/api/uploads') ? of.upload : path.startsWith('/api/imports') ? of.import : of.job;
  return path.replace('{id}', id).replace('{hash}', of.hash).replace('{name}', 'default');
}

describe('two keys with prefixes', () => {
  it.each([['acme'], ['other']])(
    'C35.8: of what the other owns, %s sees nothing by any operation with its ids, nor does it change anything',
    async (name) => {
      const [key, theirs] = name === 'acme' ? [acme, owned.get('other')] : [other, owned.get('acme')];
      const before = (await api.call(`/api/jobs/${theirs?.job}`)).text;
      const wrong: string[] = [];
      const seen: string[] = [];
      for (const { method, path, example } of await operationsOf(api)) {
        if (theirs === undefined) throw new Error('the other owns something');
        const body =
          path.endsWith('/complete') || method === 'GET' || method === 'DELETE' ? undefined : (example ?? {});
        const { status, text } = await send(key, method, pathTo(path, theirs), body);
        if (path.includes('{id}') || path.includes('{hash}')) {
          seen.push(path);
          if (status !== 404 && status !== 403) wrong.push(`${method} ${path} ${status}`);
        }
        for (const word of Object.values(theirs))
          if (text.replaceAll(/"instance":"[^"]*"/g, '').includes(word)) wrong.push(`${method} ${path} says ${word}`);
      }
      expect(seen.length).toBeGreaterThan(20);
      expect(wrong).toEqual([]);
      expect((await api.call(`/api/jobs/${theirs?.job}`)).text).toBe(before);
    },
  );

  it('C35.8: what another owns is answered as what is not there', async () => {
    const theirs = owned.get('other') ?? { job: '', hash: '', upload: '', import: '' };
    const unknown = '00000000-0000-4000-8000-000000000000';
    const pairs = [
      [`/api/jobs/${theirs.job}`, `/api/jobs/${unknown}`],
      [`/api/jobs/${theirs.job}/timeline`, `/api/jobs/${unknown}/timeline`],
      [`/api/media/${theirs.hash}`, '/api/media/acme-none'],
      [`/api/uploads/${theirs.upload}`, `/api/uploads/${unknown}`],
      [`/api/imports/${theirs.import}`, `/api/imports/${unknown}`],
    ] as const;
    for (const [path, missing] of pairs) {
      const [asked, none] = [await send(acme, 'GET', path), await send(acme, 'GET', missing)];
      expect([asked.status, plain(asked.text)], path).toEqual([404, plain(none.text)]);
    }
  });

  it('C35.8: each key sees and lists its own, whatever filters it gives, and API_KEY all', async () => {
    const mine = owned.get('acme') ?? { job: '', hash: '', upload: '', import: '' };
    for (const path of [`/api/jobs/${mine.job}`, `/api/media/${mine.hash}`, `/api/uploads/${mine.upload}`])
      expect((await send(acme, 'GET', path)).status, path).toBe(200);
    const hashesOf = async (key: MadeKey, query: string) => {
      const { json } = await send(key, 'GET', query);
      return (json.jobs ?? json.media).map(({ hash }: { hash: string }) => hash) as string[];
    };
    for (const query of [
      '/api/jobs',
      '/api/jobs?status=completed',
      '/api/jobs?type=image:thumbnail',
      '/api/media',
      '/api/media?prefix=acme-s',
      '/api/media?prefix=a',
      '/api/media?bytes_min=0',
      '/api/media?created_after=2020-01-01T00:00:00Z',
    ])
      expect(await hashesOf(acme, query), query).toEqual([mine.hash]);
    for (const query of ['/api/jobs?hash=other-secret', '/api/media?prefix=other-', '/api/jobs?status=failed'])
      expect(await hashesOf(acme, query), query).toEqual([]);
    const imports = (await send(acme, 'GET', '/api/imports')).json.imports as { import_id: string }[];
    expect(imports.map(({ import_id: id }) => id)).toEqual([mine.import]);
    expect((await api.call('/api/imports')).json.imports).toHaveLength(2);
    expect((await api.call('/api/jobs')).json.jobs).toHaveLength(2);
  });

  it('C35.8: pages of a list below a prefix have each job once', async () => {
    const pages = await makeKey(api.d.database, { name: 'pages', rights, hashPrefix: 'page-' });
    for (const number of [1, 2, 3]) await send(pages, 'POST', '/api/jobs', thumbnail(`page-${number}`));
    const listed: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { json } = await send(pages, 'GET', `/api/jobs?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      listed.push(...(json.jobs as { hash: string }[]).map(({ hash }) => hash));
      cursor = json.next_cursor as string | null;
    }
    expect(listed).toEqual(['page-3', 'page-2', 'page-1']);
  });
});

describe('submissions', () => {
  it('C35.7: a hash outside of the prefix is refused, in a batch by itself', async () => {
    const outside = await send(acme, 'POST', '/api/jobs', thumbnail('other-1'));
    expect([outside.status, outside.json.code]).toEqual([403, 'forbidden']);
    expect(outside.json.detail).toContain('hash must begin with acme-, the hash_prefix of this API key.');
    const jobs = [thumbnail('other-2'), thumbnail('acme-2'), { type: 'x' }, thumbnail('acme'), thumbnail('acme-3')];
    const { json } = await send(acme, 'POST', '/api/jobs/batch', { jobs });
    expect(json.jobs.map(({ status }: { status: number }) => status)).toEqual([403, 202, 400, 403, 202]);
    expect(json.jobs.map(({ job }: { job?: { hash: string } }) => job?.hash)).toEqual([
      undefined,
      'acme-2',
      undefined,
      undefined,
      'acme-3',
    ]);
    expect((await api.call('/api/jobs?hash=other-1')).json.jobs).toEqual([]);
  });

  it('C35.9: a source is below the prefix, or was stored by an upload or import of the key', async () => {
    const bounded = await makeKey(api.d.database, { name: 'bounded', rights, sourcePrefix: 'bounded/' });
    const statusOf = async (source: string) =>
      (await send(bounded, 'POST', '/api/jobs', thumbnail(`s-${source.replaceAll('/', '.')}`, source))).status;
    const sourceOf = async (key: MadeKey) =>
      (await send(key, 'POST', '/api/uploads', { name: 'a.jpg', size: 10 })).json.source as string;
    const [own, theirs] = [await sourceOf(bounded), await sourceOf(acme)];
    const imported = (await send(bounded, 'POST', '/api/imports', { url: 'https://a.example/a.jpg' })).json.source;
    expect(await statusOf('bounded/a.jpg')).toBe(202);
    expect([await statusOf(own), await statusOf(imported)]).toEqual([202, 202]);
    expect([await statusOf(theirs), await statusOf('a.jpg'), await statusOf(`${own}x`)]).toEqual([403, 403, 403]);
  });

  it('C35.10: a profile that the key has not and a priority above its bound are refused; its first profile is the default', async () => {
    await api.putSource('v.mp4', 'x');
    const bounded = await makeKey(api.d.database, { name: 'chosen', rights, profiles: ['default'], priorityMax: 5 });
    const submit = (hash: string, headers: Record<string, string>) =>
      send(bounded, 'POST', '/api/jobs', { type: 'video:transcode', hash, source: 'v.mp4' }, headers);
    const statuses = [];
    for (const headers of [{}, { 'x-priority': '5' }, { 'x-priority': '-9' }, { 'x-profile': 'default' }])
      statuses.push((await submit(`chosen-${statuses.length}`, headers)).status);
    expect(statuses).toEqual([202, 202, 202, 202]);
    const tooHigh = await submit('chosen-high', { 'x-priority': '6' });
    expect([tooHigh.status, tooHigh.json.detail]).toEqual([403, expect.stringContaining('priority must be at most 5')]);
    const refused = await submit('chosen-other', { 'x-profile': 'mobile' });
    expect([refused.status, refused.json.detail]).toEqual([403, expect.stringContaining('profile must be one of')]);
    const unbounded = await send(acme, 'POST', '/api/jobs', thumbnail('acme-high'), { 'x-priority': '1' });
    expect(unbounded.status).toBe(403);
  });

  it('C35.24: a retry and a rerun keep no profile and no priority that the key may not choose itself', async () => {
    await api.putSource('v.mp4', 'x');
    const given = { rights, hashPrefix: 'kept-' };
    const low = await makeKey(api.d.database, { name: 'low', ...given, profiles: ['default'] });
    const mobile = await makeKey(api.d.database, {
      name: 'other profile',
      ...given,
      profiles: ['mobile'],
      priorityMax: 9,
    });
    const failed = async (hash: string, headers: Record<string, string>) => {
      const body = { type: 'video:transcode', hash, source: 'v.mp4' };
      const { json } = await api.submit(body, headers);
      await api.fail(json.job_id as string);
      return json.job_id as string;
    };
    const high = await failed('kept-1', { 'x-priority': '9' });
    for (const how of ['retry', 'rerun'] as const) {
      expect(await again(low, high, how)).toEqual([403, expect.stringContaining('priority must be at most 0')]);
      expect(await again(mobile, high, how)).toEqual([403, expect.stringContaining('profile must be one of')]);
    }
    expect(await again(low, await failed('kept-2', {}), 'retry')).toEqual([202, '']);
    expect(await again(mobile, await failed('kept-3', {}), 'rerun', { profile: 'mobile' })).toEqual([202, '']);
  });
});

describe('signed addresses', () => {
  it('C35.11: images and tokens are signed below the prefix alone', async () => {
    expect((await links({ ...image('acme-1'), playback: 'acme-1' })).status).toBe(200);
    expect((await links(image('other-1'))).status).toBe(403);
    expect((await links({ playback: 'other-1' })).status).toBe(403);
    expect((await links(image('acme-1/../other-1'))).status).not.toBe(200);
  });
});
