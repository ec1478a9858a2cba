import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { searchQuery } from '#domain/media/description.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { listMedia } from '#platform/postgres/media-list.ts';
import { mediaDeletionTask } from '../../controller/upkeep/media-deletion.ts';
import { makeKey } from '../../testing/named-keys.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { thumbnailResults } from './results.ts';

// docs/reference/contract.md, "Title and metadata".

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const newHash = () => `d-${randomUUID().slice(0, 8)}`;
const thumbnail = (hash: string, more: object = {}) => ({ type: 'image:thumbnail', hash, source: 'a.jpg', ...more });
const jobOf = async (id: string) => (await api.call(`/api/jobs/${id}`)).json;
const mediaOf = async (hash: string) => (await api.call(`/api/media/${hash}`)).json;
const saidOf = async (hash: string) => {
  const { title, metadata } = await mediaOf(hash);
  return { title, metadata };
};
const patch = (hash: string, body: object, more: Readonly<Record<string, string>> = {}) =>
  api.call(`/api/media/${hash}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
  });
/** So that the job is no equal one. */
const small = { options: { outputs: [{ variant: 'small', width: 64, format: 'webp' }] } };
const title = 'São Paulo 🎬 100% C++';
const headers = { 'x-title': encodeURIComponent(title), 'x-metadata': 'customer=42&place=S%C3%A3o+Paulo' };
const many = Array.from({ length: 21 }, (_, n) => `n${n}=`).join('&');
const metadata = { customer: '42', place: 'São Paulo' };

/** The end of the deletion of a media. */
async function deleted(hash: string): Promise<void> {
  const { database } = api.d;
  const fence = new DeletionFence(database);
  const more = { purgeHookUrl: null, webhookSecret: 'a secret', receiptRetentionMs: null, quietMs: 0 };
  const task = mediaDeletionTask({ ...api.d, fence, ...more });
  for (let rounds = 0; (await api.call(`/api/media/${hash}/deletion`)).json.status !== 'deleted'; rounds += 1) {
    expect(rounds).toBeLessThan(50);
    await task.work(new AbortController().signal);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('the headers of a submission', () => {
  it('C38.1: X-Title and X-Metadata, in percent-encoded UTF-8, are in the job and in its media', async () => {
    const hash = newHash();
    const { status, json } = await api.submit(thumbnail(hash), headers);
    expect(status).toBe(202);
    expect(await jobOf(json.job_id)).toMatchObject({ title, metadata });
    expect(await saidOf(hash)).toEqual({ title, metadata });
    const { json: list } = await api.call(`/api/jobs?hash=${hash}`);
    expect(list.jobs).toMatchObject([{ title, metadata }]);
    const plain = await api.submit(thumbnail(newHash()));
    expect(await jobOf(plain.json.job_id)).toMatchObject({ title: null, metadata: {} });
  });

  it.each([
    ['an empty title', 'x-title', '', '/X-Title', 'must be 1–256 characters'],
    ['a long title', 'x-title', 'a'.repeat(257), '/X-Title', 'must be 1–256 characters'],
    ['a bare percent sign', 'x-title', '100% real', '/X-Title', 'a percent sign is "%25"'],
    ['a byte of no character', 'x-title', '%FF', '/X-Title', 'must be percent-encoded UTF-8'],
    ['a letter beyond ASCII', 'x-title', 'S\u00e3o Paulo', '/X-Title', 'must be percent-encoded UTF-8'],
    ['two lines', 'x-title', 'a%0Ab', '/X-Title', 'without control characters'],
    ['a bare percent sign', 'x-metadata', 'a=%', '/X-Metadata', 'a percent sign is "%25"'],
    ['a name with a space', 'x-metadata', 'a b=c', '/X-Metadata', '"a b" '],
    ['too many bytes', 'x-metadata', `a=${'x'.repeat(4096)}`, '/X-Metadata', 'at most 4096 bytes'],
    ['too many strings', 'x-metadata', many, '/X-Metadata', 'at most 20 strings'],
  ])('C38.2: %s in %s is refused, and the header named', async (_, name, value, pointer, words) => {
    const { json, status } = await api.submit(thumbnail(newHash()), { [name]: value });
    expect([status, json.errors]).toMatchObject([400, [{ pointer, code: 'invalid_header' }]]);
    expect(json.errors[0].detail).toContain(words);
  });

  it('C38.3: an equal submission with another title gets the same job, which keeps its own; the media has the last', async () => {
    const hash = newHash();
    const first = await api.submit(thumbnail(hash), headers);
    const other = await api.submit(thumbnail(hash), { 'x-title': 'Another' });
    expect([other.status, other.json.job_id]).toEqual([200, first.json.job_id]);
    expect(await jobOf(first.json.job_id)).toMatchObject({ title, metadata });
    expect(await saidOf(hash)).toEqual({ title: 'Another', metadata });
    await api.complete(first.json.job_id, thumbnailResults);
    await api.submit(thumbnail(hash), { 'x-title': 'A third' });
    expect(await saidOf(hash)).toEqual({ title: 'A third', metadata });
    expect((await api.submit(thumbnail(hash))).status).toBe(200);
    expect(await saidOf(hash)).toEqual({ title: 'A third', metadata });
  });

  it('C38.4: the headers of a batch hold for each of its submissions', async () => {
    const [one, other] = [newHash(), newHash()];
    const { status, json } = await api.call('/api/jobs/batch', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jobs: [thumbnail(one), { type: 'x' }, thumbnail(other)] }),
    });
    expect([status, json.jobs.map((entry: { status: number }) => entry.status)]).toEqual([200, [202, 400, 202]]);
    for (const hash of [one, other]) expect(await saidOf(hash)).toEqual({ title, metadata });
  });

  it('C38.5: a retry and a rerun have what their job was submitted with, and leave the media as it is called now', async () => {
    const hash = newHash();
    const { json } = await api.submit(thumbnail(hash), headers);
    await api.complete(json.job_id, thumbnailResults);
    await patch(hash, { title: 'Now' });
    const rerun = await api.call(`/api/jobs/${json.job_id}/rerun`, { method: 'POST' });
    expect(rerun.status).toBe(202);
    expect(await jobOf(rerun.json.job_id)).toMatchObject({ title, metadata });
    const failing = await api.submit(thumbnail(hash, small), headers);
    await patch(hash, { title: 'Now' });
    await api.fail(failing.json.job_id);
    const retry = await api.call(`/api/jobs/${failing.json.job_id}/retry`, { method: 'POST' });
    expect(retry.status).toBe(202);
    expect(await jobOf(retry.json.jobs[0].job_id)).toMatchObject({ title, metadata });
    expect(await saidOf(hash)).toEqual({ title: 'Now', metadata });
  });
});

it('C38.10: a webhook has neither title nor metadata', async () => {
  const { json } = await api.submit(thumbnail(newHash(), { callback_url: 'https://example.com/hook' }), headers);
  await api.complete(json.job_id, thumbnailResults);
  const events = 'select body from webhook_events where job_id = $1';
  const { rows } = await api.d.database.pool.query<{ body: string }>(events, [json.job_id]);
  expect(
    rows.map(({ body }) => Object.keys(JSON.parse(body) as object).filter((name) => /title|meta/.test(name))),
  ).toEqual([[]]);
});

describe('PATCH /api/media/{hash}', () => {
  it('C38.6: sets title and metadata, each apart, and null removes them', async () => {
    const hash = newHash();
    const { json } = await api.submit(thumbnail(hash), headers);
    expect((await patch(hash, { title: 'Changed' })).json).toMatchObject({ title: 'Changed', metadata });
    expect((await patch(hash, { metadata: { only: 'this' } })).json).toMatchObject({
      title: 'Changed',
      metadata: { only: 'this' },
    });
    expect((await patch(hash, { title: null, metadata: null })).json).toMatchObject({ title: null, metadata: {} });
    expect(await jobOf(json.job_id)).toMatchObject({ title, metadata });
    for (const body of [{ title: '' }, { title: 'a'.repeat(257) }, { metadata: { a: 1 } }, { metadata: { 'a b': '' } }])
      expect((await patch(hash, body)).status).toBe(400);
    expect((await patch(newHash(), { title: 'x' })).status).toBe(404);
  });

  it('C38.21: a key with the right submit sets title and metadata, and nothing else', async () => {
    const hash = newHash();
    await api.submit(thumbnail(hash), headers);
    const answerTo = async (right: 'submit' | 'delete' | 'read', body: object) => {
      const { text } = await makeKey(api.d.database, { name: `${right}-${randomUUID()}`, rights: [right] });
      const { status, json } = await patch(hash, body, { 'x-api-key': text });
      return [status, json.detail];
    };
    expect(await answerTo('submit', { title: 'By a submitter' })).toEqual([200, undefined]);
    expect(await answerTo('submit', { metadata: { only: 'this' } })).toEqual([200, undefined]);
    expect(await saidOf(hash)).toEqual({ title: 'By a submitter', metadata: { only: 'this' } });
    for (const body of [{ expires_at: null }, { legal_hold: true }, { playback: 'signed' }]) {
      const [name = ''] = Object.keys(body);
      expect(await answerTo('submit', { title: 'Not this', ...body })).toEqual([
        403,
        expect.stringContaining(`lacks the right delete, which ${name} needs.`),
      ]);
    }
    expect(await saidOf(hash)).toMatchObject({ title: 'By a submitter' });
    expect(await answerTo('read', { title: 'x' })).toEqual([403, expect.stringContaining('lacks the right delete')]);
    expect(await answerTo('delete', { title: 'Both', legal_hold: false })).toEqual([200, undefined]);
  });

  it('C38.7: of a submission and a change at once the later one holds, whichever is written first', async () => {
    const hash = newHash();
    const { json } = await api.submit(thumbnail(hash), { 'x-title': 'First' });
    // A submission whose statement comes after a change that was asked for later.
    await patch(hash, { title: 'Changed' });
    await api.d.jobs.describeMedia({
      jobId: json.job_id,
      isNew: true,
      change: { title: 'First', metadata: { a: 'b' } },
    });
    expect(await saidOf(hash)).toEqual({ title: 'Changed', metadata: { a: 'b' } });
    // A submission after the change.
    await api.submit(thumbnail(hash), { 'x-title': 'Second' });
    expect(await saidOf(hash)).toEqual({ title: 'Second', metadata: { a: 'b' } });
    await patch(hash, { title: 'Last' });
    expect(await saidOf(hash)).toEqual({ title: 'Last', metadata: { a: 'b' } });
  });
});

const search = async (q: string, more = '') =>
  (await api.call(`/api/media?q=${encodeURIComponent(q)}${more}`)).json as {
    readonly media: readonly { readonly hash: string; readonly title: string | null }[];
    readonly next_cursor: string | null;
  };
const found = async (q: string) => (await search(q)).media.map(({ hash }) => hash);
const titled = (text: string) => ({ 'x-title': encodeURIComponent(text) });
const made = async (hash: string, given: Readonly<Record<string, string>> = {}) => {
  const { json } = await api.submit(thumbnail(hash), given);
  await api.complete(json.job_id, thumbnailResults);
};

describe('GET /api/media?q=', () => {
  beforeAll(async () => {
    await made('q-1', titled("Zoë's Holiday: Müller/Straße"));
    await made('q-2', titled('zoe on HOLIDAY, day 2'));
    await made('holiday-3');
    await made('q-4', titled('東京 movie.mp4'));
    // Nothing is made of it yet.
    await api.submit(thumbnail('q-5'), { 'x-title': 'Holiday of tomorrow' });
  });

  it.each([
    ['holiday', ['holiday-3', 'q-1', 'q-2']],
    ['HOLI zoë', ['q-1', 'q-2']],
    ['muller', ['q-1']],
    ['da', []],
    ['2', ['q-2']],
    ['東', ['q-4']],
    ['mov mp4', ['q-4']],
    ['q-', ['q-1', 'q-2', 'q-4']],
    ['holiday-3', ['holiday-3']],
    ["'); & | !", []],
    ['of tomorrow', []],
  ])('C38.9: "%s" finds media by the begin of words of the title, or of the hash', async (q, hashes) => {
    expect(await found(q)).toEqual(hashes);
  });

  it('C38.9: the pages of a search have each media once, and titles', async () => {
    const first = await search('holiday', '&limit=2');
    expect(first.media.map(({ hash, title: called }) => [hash, called])).toEqual([
      ['holiday-3', null],
      ['q-1', "Zoë's Holiday: Müller/Straße"],
    ]);
    const second = await search('holiday', `&limit=2&cursor=${first.next_cursor}`);
    expect([second.media.map(({ hash }) => hash), second.next_cursor]).toEqual([['q-2'], null]);
    const { status, json } = await api.call('/api/media?q=holiday&prefix=q');
    expect([status, json.errors]).toMatchObject([400, [{ pointer: '/prefix', code: 'not_combinable' }]]);
  });

  it('C38.9: a key with a prefix finds its own media alone', async () => {
    const filter = { by: 'search', words: searchQuery('holiday'), prefix: 'holiday' } as const;
    const below = async (hashPrefix: string) =>
      (await listMedia(api.d.listDatabase, filter, { after: null, limit: 10, hashPrefix })).map(({ hash }) => hash);
    expect([await below('q-1'), await below('h'), await below('x')]).toEqual([['q-1'], ['holiday-3'], []]);
  });

  it('C38.9: a new title is found, and the one before is not', async () => {
    await patch('q-2', { title: 'Renamed' });
    expect([await found('renamed'), await found('zoe')]).toEqual([['q-2'], ['q-1']]);
  });
});

const listed = async (query: string) => {
  const { status, json } = await api.call(`/api/media?${query}`);
  return status === 200
    ? (json.media as { hash: string }[]).map(({ hash }) => hash)
    : [status, json.errors?.[0]?.pointer, json.errors?.[0]?.code];
};
describe('GET /api/media?metadata=', () => {
  beforeAll(async () => {
    await made('k-1', { 'x-metadata': 'owner=7&place=S%C3%A3o+Lu%C3%ADs&kind=a%3Db' });
    await made('k-2', { 'x-metadata': 'owner=7&place=Porto' });
    await made('l-3', { 'x-metadata': 'owner=7' });
    await made('l-4', { 'x-metadata': 'owner=77' });
    // Nothing is made of it yet.
    await api.submit(thumbnail('k-5'), { 'x-metadata': 'owner=7' });
  });

  it.each([
    ['metadata=owner=7', ['k-1', 'k-2', 'l-3']],
    ['metadata=owner%3D7&prefix=k-', ['k-1', 'k-2']],
    ['metadata=owner=7&metadata=place=Porto', ['k-2']],
    ['metadata=place=S%C3%A3o+Lu%C3%ADs', ['k-1']],
    ['metadata=kind=a=b', ['k-1']],
    ['metadata=owner=', []],
    ['metadata=absent=7', []],
    ['metadata=owner', [400, '/metadata/0', 'invalid_value']],
    ['metadata=a%00b=1', [400, '/metadata/0', 'invalid_value']],
    ['metadata=a=%00', [400, '/metadata/0', 'invalid_value']],
    ['metadata=a=1&metadata=a=2', [400, '/metadata', 'invalid_value']],
    ['metadata=a=1&metadata=b=1&metadata=c=1&metadata=d=1', [400, '/metadata', 'too_big']],
    ['metadata=owner=7&q=x', [400, '/metadata', 'not_combinable']],
    ['metadata=owner=7&bytes_min=1', [400, '/bytes_min', 'not_combinable']],
  ])('C38.22: "%s" finds media by strings of their metadata', async (query, expected) => {
    expect(await listed(query)).toEqual(expected);
  });

  it('C38.22: its pages have each media once, and a key with a prefix finds its own media', async () => {
    const first = await api.call('/api/media?metadata=owner=7&limit=2');
    expect(first.json.media.map(({ hash }: { hash: string }) => hash)).toEqual(['k-1', 'k-2']);
    expect(await listed(`metadata=owner=7&limit=2&cursor=${first.json.next_cursor}`)).toEqual(['l-3']);
    const { text } = await makeKey(api.d.database, { name: 'of-l', rights: ['read'], hashPrefix: 'l-' });
    const own = await api.call('/api/media?metadata=owner=7', { headers: { 'x-api-key': text } });
    expect(own.json.media.map(({ hash }: { hash: string }) => hash)).toEqual(['l-3']);
  });
});

describe('a deleted media', () => {
  it('C38.8: title and metadata go with it, from the media at once, from its jobs with its objects', async () => {
    const hash = newHash();
    const { json } = await api.submit(thumbnail(hash), headers);
    const failing = await api.submit(thumbnail(hash, small), headers);
    await api.complete(json.job_id, thumbnailResults);
    await api.fail(failing.json.job_id);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    expect(await saidOf(hash)).toEqual({ title: null, metadata: {} });
    expect((await patch(hash, { title: 'Late' })).status).toBe(409);
    await deleted(hash);
    for (const id of [json.job_id, failing.json.job_id])
      expect(await jobOf(id)).toMatchObject({ title: null, metadata: {} });
    expect(await jobOf(failing.json.job_id)).toMatchObject({ status: 'failed', results_expired: false });
    const { rows } = await api.d.database.pool.query('select from descriptions where hash = $1', [hash]);
    expect(rows).toEqual([]);
  });

  it('C38.8: what a submission says while the media is deleted is of the next media', async () => {
    const hash = newHash();
    const { json } = await api.submit(thumbnail(hash), headers);
    await api.complete(json.job_id, thumbnailResults);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const next = await api.submit(thumbnail(hash), { 'x-title': 'Next' });
    expect(next.json.job_id).not.toBe(json.job_id);
    await deleted(hash);
    expect(await saidOf(hash)).toEqual({ title: 'Next', metadata: {} });
    expect(await jobOf(next.json.job_id)).toMatchObject({ title: 'Next' });
  });

  it('C38.8: a submission that the deletion covers, and whose statement comes late, says nothing', async () => {
    const hash = newHash();
    const { json } = await api.submit(thumbnail(hash));
    await api.complete(json.job_id, thumbnailResults);
    const said = { jobId: json.job_id as string, isNew: true, change: { title: 'Late' } };
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    await api.d.jobs.describeMedia(said);
    await deleted(hash);
    await api.d.jobs.describeMedia(said);
    expect((await api.d.database.pool.query('select from descriptions where hash = $1', [hash])).rows).toEqual([]);
  });

  it.each([
    ['before', true],
    ['after', false],
  ])('C38.8: what a covered submission says late, %s the next one says its own, goes alone', async (_, isBefore) => {
    const hash = newHash();
    const { json } = await api.submit(thumbnail(hash));
    await api.complete(json.job_id, thumbnailResults);
    await api.call(`/api/media/${hash}`, { method: 'DELETE' });
    const sayLate = () =>
      api.d.jobs.describeMedia({
        jobId: json.job_id as string,
        isNew: true,
        change: { title: 'Late', metadata: { customer: '42' } },
      });
    if (isBefore) await sayLate();
    await api.submit(thumbnail(hash), { 'x-title': 'Next' });
    if (!isBefore) await sayLate();
    await deleted(hash);
    expect(await saidOf(hash)).toEqual({ title: 'Next', metadata: {} });
  });

  it('C38.8: the last job of a media takes its title with it, also two jobs at once', async () => {
    const hash = newHash();
    const submitted = [await api.submit(thumbnail(hash), headers), await api.submit(thumbnail(hash, small), headers)];
    const ids = submitted.map(({ json }) => json.job_id as string);
    const [one, other] = [await api.d.database.pool.connect(), await api.d.database.pool.connect()];
    try {
      await one.query('begin');
      await one.query('delete from jobs where id = $1', [ids[0]]);
      const second = other.query('delete from jobs where id = $1', [ids[1]]);
      await new Promise((resolve) => setTimeout(resolve, 200));
      await one.query('commit');
      await second;
    } finally {
      one.release();
      other.release();
    }
    expect((await api.d.database.pool.query('select from descriptions where hash = $1', [hash])).rows).toEqual([]);
  });
});
