import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Right, rights } from '#domain/keys/rights.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { makeKey, type MadeKey } from '../../testing/named-keys.ts';
import type { ApiUnderTest } from './api-under-test.ts';
import { type Operation, operationsOf, startWholeApi } from './keys-rig.ts';

// docs/reference/contract.md, "Keys": named keys and their rights. How look-ups are shared and remembered:
// test/integration/named-keys.test.ts.

const lines: Record<string, unknown>[] = [];
const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
let api: ApiUnderTest;
const keys = new Map<Right, MadeKey>();

beforeAll(async () => {
  const log = createLogger({ level: 'info', name: 'test', destination });
  api = await startWholeApi({ log });
  for (const right of rights) keys.set(right, await makeKey(api.d.database, { name: `can-${right}`, rights: [right] }));
});
afterAll(() => api.close());

const unknown = '00000000-0000-4000-8000-000000000000';
const call = ({ method, path }: Operation, key: string) =>
  api.raw(path.replace('{id}', unknown).replaceAll(/\{\w+\}/g, 'none'), { method, headers: { 'x-api-key': key } });

describe('rights', () => {
  it('C35.2: each right alone opens exactly its operations, and `admin` opens all', async () => {
    const all = await operationsOf(api);
    expect(all.length).toBeGreaterThan(40);
    expect(new Set(all.flatMap(({ rights: each }) => each))).toEqual(new Set([...rights, undefined]));
    const wrong: string[] = [];
    for (const operation of all)
      for (const [given, { text }] of keys) {
        const { status, text: body } = await call(operation, text);
        const { rights: open } = operation;
        const isOpen = open.includes(undefined) || open.includes(given) || given === 'admin';
        const isRefused = status === 401 || body.includes('lacks the right');
        if (isOpen === isRefused)
          wrong.push(`${given}: ${operation.method} ${operation.path} (${open.join()}) ${status}`);
      }
    expect(wrong).toEqual([]);
  });

  it('C35.2: the refusal names the key and the right that is missing', async () => {
    const { status, json } = await api.submit({}, { 'x-api-key': keys.get('read')?.text ?? '' });
    expect([status, json.code]).toEqual([403, 'forbidden']);
    expect(json.detail).toContain('The API key can-read lacks the right submit, which this address needs.');
  });

  it('C35.2: a key with several rights opens the operations of each', async () => {
    const { text } = await makeKey(api.d.database, { name: 'both', rights: ['read', 'submit'] });
    const headers = { 'x-api-key': text };
    expect((await api.submit({ type: 'image:thumbnail', hash: 'both', source: 'a.jpg' }, headers)).status).toBe(202);
    expect((await api.call('/api/jobs', { headers })).status).toBe(200);
    expect((await api.call('/api/media/both', { method: 'DELETE', headers })).status).toBe(403);
  });
});

describe('named keys', () => {
  it('C35.1: a key that is unknown, has expired, or is a digest is answered as any wrong key', async () => {
    const expired = await makeKey(api.d.database, { name: 'old', rights: ['admin'], expiresAt: new Date(0) });
    const { rows } = await api.d.database.pool.query<{ sha256: Buffer }>('select sha256 from api_keys limit 1');
    const digest = rows[0]?.sha256 ?? Buffer.alloc(0);
    const wrong = [expired.text, `rw_${'x'.repeat(43)}`, digest.toString('hex'), `rw_${digest.toString('base64url')}`];
    const answers = [];
    for (const key of [...wrong, 'wrong']) answers.push(await api.call('/api/jobs', { headers: { 'x-api-key': key } }));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
    expect(new Set(answers.map(({ json }) => JSON.stringify({ ...json, trace_id: '' }))).size).toBe(1);
  });

  it('C35.1: the text of a key is nowhere in the database', async () => {
    const { text } = keys.get('read') ?? { text: '' };
    const { rows } = await api.d.database.pool.query<{ row: string }>('select api_keys::text as row from api_keys');
    expect(rows.length).toBeGreaterThan(6);
    for (const { row } of rows) {
      expect(row).not.toContain(text);
      expect(row).not.toContain(Buffer.from(text).toString('hex'));
    }
  });

  it('C35.6: log lines of a caller name the id and the name of the key, and not the key', async () => {
    const { id, text } = keys.get('submit') ?? { id: '', text: '' };
    await api.submit({ type: 'image:thumbnail', hash: 'logged', source: 'a.jpg' }, { 'x-api-key': text });
    const line = lines.findLast(({ msg }) => msg === 'job submitted');
    expect([line?.['key_id'], line?.['key_name']]).toEqual([id, 'can-submit']);
    expect(JSON.stringify(lines)).not.toContain(text);
  });

  it('C35.6: the hour of the last use is noted once', async () => {
    const { id, text } = await makeKey(api.d.database, { name: 'used', rights: ['read'] });
    const usedAt = async () => {
      const found = await api.d.database.pool.query<{ at: Date | null }>(
        'select last_used_at as at from api_keys where id = $1',
        [id],
      );
      return found.rows[0]?.at ?? null;
    };
    expect(await usedAt()).toBeNull();
    await api.call('/api/jobs', { headers: { 'x-api-key': text } });
    await expect.poll(usedAt).not.toBeNull();
    expect(((await usedAt())?.getTime() ?? 1) % 3_600_000).toBe(0);
  });
});

const post = (body: unknown, headers: Record<string, string> = {}) =>
  api.call('/api/keys', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const statusWith = async (key: string) => (await api.call('/api/jobs', { headers: { 'x-api-key': key } })).status;

/** The names of all keys, by pages. */
const namesBy = async (query: string) => {
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { json } = await api.call(`/api/keys?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    found.push(...(json.keys as { name: string }[]).map(({ name }) => name));
    cursor = json.next_cursor as string | null;
  }
  return found;
};

describe('routes of keys', () => {
  it('C35.12, C35.14, C36.8: a key is made and shown once, is listed without its text, and is refused once it is revoked', async () => {
    const bounds = { hash_prefix: 'acme-', source_prefix: 'acme/', profiles: ['mobile'], priority_max: 7, weight: 4 };
    const made = await post({ name: 'acme', rights: ['read'], ...bounds, expires_at: '2999-01-01T00:00:00Z' });
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const { key, ...shown } = made.json;
    expect(shown).toMatchObject({ name: 'acme', rights: ['read'], ...bounds, last_used_at: null });
    expect(await statusWith(key)).toBe(200);
    const listed = await api.call('/api/keys?limit=1');
    expect(listed.json.keys).toMatchObject([{ ...shown, last_used_at: expect.anything() }]);
    expect(listed.text).not.toContain(key);
    const revoked = await api.call(`/api/keys/${shown.key_id}`, { method: 'DELETE' });
    expect([revoked.status, revoked.json.name]).toEqual([200, 'acme']);
    expect(await statusWith(key)).toBe(401);
    expect((await api.call(`/api/keys/${shown.key_id}`, { method: 'DELETE' })).status).toBe(404);
    const changes = lines.filter(({ msg }) => String(msg).startsWith('API key '));
    expect(changes.map(({ msg, changed_key_name: name }) => [msg, name])).toEqual([
      ['API key made', 'acme'],
      ['API key revoked', 'acme'],
    ]);
    expect(JSON.stringify(lines)).not.toContain(key);
  });

  it('C35.12: of two keys with one name made at once one is refused with 409', async () => {
    const both = await Promise.all([1, 2].map(() => post({ name: 'twice', rights: ['read'] })));
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
  });

  it.each([
    [{ rights: ['read'] }, '/name'],
    [{ name: '', rights: ['read'] }, '/name'],
    [{ name: 'a', rights: [] }, '/rights'],
    [{ name: 'a', rights: ['write'] }, '/rights/0'],
    [{ name: 'a', rights: ['read'], hash_prefix: '-a' }, '/hash_prefix'],
    [{ name: 'a', rights: ['admin'], hash_prefix: 'a-' }, '/hash_prefix'],
    [{ name: 'a', rights: ['read'], priority_max: 1001 }, '/priority_max'],
    [{ name: 'a', rights: ['read'], weight: 0 }, '/weight'],
    [{ name: 'a', rights: ['read'], expires_at: 'tomorrow' }, '/expires_at'],
    [{ name: 'a', rights: ['read'], key: 'own' }, '/key'],
  ])('C35.12: the body %j is refused at %s', async (body, pointer) => {
    const { status, json } = await post(body);
    expect([status, json.errors.map((fault: { pointer: string }) => fault.pointer)]).toEqual([400, [pointer]]);
  });

  it('C35.13: the list has each key once, by name, whatever the size of a page', async () => {
    const all = await namesBy('limit=100');
    expect(all).toContain('can-read');
    expect(all).toEqual(all.toSorted());
    expect(await namesBy('limit=2')).toEqual(all);
  });

  it('C35.14: an event stream that a revoked key opened ends, and says nothing of a change', async () => {
    const { json: made } = await post({ name: 'stream', rights: ['read'] });
    const job = (await api.submit({ type: 'image:thumbnail', hash: 'followed', source: 'a.jpg' })).json
      .job_id as string;
    const response = await fetch(`${api.url}/api/jobs/${job}/events`, { headers: { 'x-api-key': made.key } });
    expect(response.status).toBe(200);
    await api.call(`/api/keys/${made.key_id}`, { method: 'DELETE' });
    await api.call(`/api/jobs/${job}/cancel`, { method: 'POST' });
    const events = await response.text();
    expect(events).toContain('"status":"queued"');
    expect(events).not.toContain('cancelled');
  });
});

describe('rows', () => {
  it('C35.16: jobs, reruns, retries, uploads, imports, deletions and rollouts have the id of the key that asked for them', async () => {
    const { id, text } = keys.get('admin') ?? { id: '', text: '' };
    const postAs = (path: string, body: unknown) =>
      api.call(path, {
        method: 'POST',
        headers: { 'x-api-key': text, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const submitted = await postAs('/api/jobs', { type: 'image:thumbnail', hash: 'rows', source: 'a.jpg' });
    await postAs('/api/jobs/batch', { jobs: [{ type: 'image:thumbnail', hash: 'rows', source: 'b.jpg' }] });
    await api.fail(submitted.json.job_id);
    await postAs(`/api/jobs/${submitted.json.job_id}/retry`, {});
    await postAs(`/api/jobs/${submitted.json.job_id}/rerun`, {});
    await postAs('/api/uploads', { name: 'rows.mp4', size: 10 });
    await postAs('/api/imports', { url: 'https://a.example/rows.mp4' });
    await postAs('/api/rollouts', { to_profile: 'default', which: { hash_prefix: 'rows' } });
    await api.call('/api/media/rows', { method: 'DELETE', headers: { 'x-api-key': text } });
    const counts = await api.d.database.pool.query(
      `select (select count(*) from jobs where key_id = $1)::int as jobs,
         (select count(*) from uploads where key_id = $1)::int as uploads,
         (select count(*) from imports where key_id = $1)::int as imports,
         (select count(*) from rollouts where key_id = $1)::int as rollouts,
         (select count(*) from media_deletions where key_id = $1)::int as deletions`,
      [id],
    );
    expect(counts.rows).toEqual([{ jobs: 4, uploads: 1, imports: 1, rollouts: 1, deletions: 1 }]);
  });
});
