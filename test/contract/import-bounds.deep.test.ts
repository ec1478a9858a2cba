import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DueWorkStore } from '#platform/postgres/due-work.ts';
import { until } from '../../testing/controller-rig.ts';
import {
  begin,
  fileOf,
  type ImportApi,
  newFolder,
  partBytes,
  reached,
  remove,
  serve,
  startImportApi,
} from './imports-rig.ts';

// docs/reference/contract.md, "Bring in": the limits of imports, and what their rows keep.

/** A row of a key of its own, unless that is named. */
function rowOf(keyId: string = randomUUID()) {
  const id = randomUUID();
  const at = { url: 'https://a.example/a.mp4?sig=secret', name: 'a.mp4', source: `uploads/${id}/a.mp4` };
  return { id, keyId, ...at, sha256: null, partSizeBytes: partBytes };
}

describe('the bounds of imports', () => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
  });
  afterAll(() => api.close());

  const query = (text: string, parameters: unknown[] = []) => api.d.database.pool.query(text, parameters);
  const limits = { openMax: 5, waitMsMax: 60_000 };
  async function claimed() {
    const row = rowOf();
    await api.rows.insert(row, limits);
    const [lease] = (await api.rows.claim(new Map([[row.keyId, 100]]), 60_000)).filter(({ id }) => id === row.id);
    if (lease === undefined) throw new Error('not claimed');
    return lease;
  }

  it('C30.24: of many imports that begin at once no more are open than UPLOADS_OPEN_MAX, for each API key', async () => {
    const insert = () => api.rows.insert(rowOf('crowd'), limits);
    const begun = await Promise.all(Array.from({ length: 12 }, insert));
    expect(begun.filter((row) => row !== null)).toHaveLength(5);
    expect(await api.rows.insert(rowOf('another'), limits)).not.toBeNull();
    await query(`update imports set status = 'cancelled', ended_at = now()`);
  });

  it('C23.1: beginning an import counts against the limit on imports', async () => {
    const { headers } = await begin(api, {});
    expect([headers.get('ratelimit-policy'), headers.get('ratelimit')]).toEqual([
      '"imports";q=10000;w=60',
      expect.stringMatching(/^"imports";r=\d+;/),
    ]);
  });

  it('C30.17: the row of an import that has ended has nothing of the query of its address, however it ended', async () => {
    const worker = await api.startWorker();
    const server = await serve(api, fileOf(1000), (request, response) => {
      if (request.url?.startsWith('/none') !== true) return false;
      response.writeHead(404).end();
      return true;
    });
    const failed = await begin(api, { url: `${server.url}/none?sig=secret` });
    await reached(api, failed.json.import_id, 'failed');
    const completed = await begin(api, { url: `${server.url}/a.mp4?sig=secret` });
    await reached(api, completed.json.import_id, 'completed');
    await worker.stop();
    const cancelled = await begin(api, { url: `${server.url}/a.mp4?sig=secret` });
    await remove(api, cancelled.json.import_id);
    const { rows } = await query('select status, imports::text as text from imports where url like $1', [
      `${server.url}%`,
    ]);
    expect(rows.map(({ status }) => status as string).toSorted()).toEqual(['cancelled', 'completed', 'failed']);
    expect(JSON.stringify(rows)).not.toContain('secret');
  });

  it.each([
    ['86400', 3600],
    ['600', 600],
  ])('C30.23: `Retry-After: %s` delays the next attempt by %i s, at most an hour', async (header, seconds) => {
    const worker = await api.startWorker();
    const server = await serve(api, fileOf(10), (_request, response) => {
      response.writeHead(503, { 'retry-after': header }).end();
      return true;
    });
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
    await until(
      () => api.rows.find(begun.import_id),
      (row) => row?.failures === 1,
    );
    await worker.stop();
    const due = 'select extract(epoch from due_at - now())::float8 as seconds from imports where id = $1';
    const { rows } = await query(due, [begun.import_id]);
    expect(Math.abs(rows[0].seconds - seconds)).toBeLessThan(30);
    await remove(api, begun.import_id);
  });

  it('C30.24: what a cancelled import stored is removed once no attempt writes there any more', async () => {
    const lease = await claimed();
    await api.rows.cancel(lease);
    const isClaimed = async () => (await api.rows.claimToCleanUp(1000)).some(({ id }) => id === lease.id);
    expect(await isClaimed()).toBe(false);
    await api.rows.release(lease, { delayMs: 0, failures: 0 });
    expect(await isClaimed()).toBe(true);
    // Another worker does not do the same meanwhile.
    expect(await isClaimed()).toBe(false);
  });

  it('C30.24: an import that is cancelled between two attempts is removed at once', async () => {
    const lease = await claimed();
    await api.rows.release(lease, { delayMs: 3_600_000, failures: 1 });
    await api.rows.cancel(lease);
    expect((await api.rows.claimToCleanUp(1000)).map(({ id }) => id)).toContain(lease.id);
  });

  it('C30.23: the time of an import counts from the first answer of its server on, and no later one adds any', async () => {
    const lease = await claimed();
    const leftSec = async () => {
      const left = 'select extract(epoch from deadline_at - now())::float8 as seconds from imports where id = $1';
      return (await query(left, [lease.id])).rows[0].seconds as number;
    };
    expect(await leftSec()).toBeLessThanOrEqual(limits.waitMsMax / 1000);
    const file = { multipartId: 'm', sizeBytes: 1, contentType: null, validator: null };
    await api.rows.noteFile(lease, { ...file, transferMsMax: 3_600_000 });
    expect(Math.abs((await leftSec()) - 3_600)).toBeLessThan(60);
    await api.rows.noteFile(lease, { ...file, multipartId: 'n', transferMsMax: 7_200_000 });
    expect(Math.abs((await leftSec()) - 3_600)).toBeLessThan(60);
    await api.rows.cancel(lease);
  });

  it('C30.21: the row of a failed import stays until nothing of it is stored', async () => {
    const lease = await claimed();
    await api.rows.fail(lease, { url: lease.url, code: 'not_found', httpStatus: 404 });
    await query(`update imports set ended_at = now() - interval '31 days' where id = $1`, [lease.id]);
    const olderThan = (days: number) =>
      new DueWorkStore(api.d.database).delete('import_retention', { delayMs: days * 86_400_000, limit: 1000 });
    await olderThan(30);
    expect(await api.rows.find(lease.id)).not.toBeNull();
    await api.rows.markCleanedUp([lease.id]);
    await olderThan(32);
    expect(await api.rows.find(lease.id)).not.toBeNull();
    await olderThan(30);
    expect(await api.rows.find(lease.id)).toBeNull();
  });

  /** No write of an attempt changes the import. */
  async function changesNothing(lease: Awaited<ReturnType<typeof claimed>>): Promise<void> {
    const before = await api.rows.find(lease.id);
    const file = { multipartId: 'm', sizeBytes: 1, contentType: null, validator: null, transferMsMax: 1 };
    expect([
      await api.rows.renew(lease, 60_000),
      await api.rows.noteFile(lease, file),
      await api.rows.noteProgress(lease, 5),
      await api.rows.complete(lease, { url: lease.url, etag: 'e', sizeBytes: 1, sha256: null }),
      await api.rows.fail(lease, { url: lease.url, code: 'not_found', httpStatus: 404 }),
    ]).toEqual(['lost', false, false, false, false]);
    expect(await api.rows.find(lease.id)).toEqual(before);
  }

  it('C30.24, C30.25: an attempt that has lost its lease, or whose import was cancelled, changes nothing of it', async () => {
    const old = await claimed();
    await query(`update imports set due_at = now() where id = $1`, [old.id]);
    const [next] = (await api.rows.claim(new Map([[old.keyId, 100]]), 60_000)).filter(({ id }) => id === old.id);
    await changesNothing(old);
    await api.rows.release(old, { delayMs: 0, failures: 1 });
    expect(await api.rows.renew(next ?? old, 60_000)).toBe('held');
    await api.rows.cancel(old);
    // Neither does one whose import was cancelled.
    await changesNothing(next ?? old);
  });

  it('C30.19: the connection of a redirect is closed, also when its body never ends', async () => {
    const worker = await api.startWorker();
    const closed = Promise.withResolvers<boolean>();
    const server = await serve(api, fileOf(1000), (request, response) => {
      if (request.url !== '/0') return false;
      response.once('close', () => closed.resolve(true));
      response.writeHead(302, { location: '/a.mp4' }).write('a body without an end');
      return true;
    });
    const { json: begun } = await begin(api, { url: `${server.url}/0` });
    await reached(api, begun.import_id, 'completed');
    expect(await closed.promise).toBe(true);
    await worker.stop();
  });
});
