import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { DeletedMedia } from '../../delivery/deleted-media.ts';
import { describeStores } from './postgres-servers.ts';

// What a delivery server has in memory about deletions, against the table.

const recentMax = 3;
const addressOf = (hash: string) => `/stream/${hash}/master.m3u8`;

describeStores('the deleted media of a delivery server', (c) => {
  let deleted: DeletedMedia;
  let forgotten: string[];

  beforeEach(() => {
    const log = createLogger({ level: 'fatal', name: 'test' });
    deleted = new DeletedMedia({ store: new DeletedMediaStore(c.database), log, recentMax });
    forgotten = [];
    deleted.onDeleted((hashes) => forgotten.push(...hashes));
  });
  afterEach(() => deleted.stop());

  const remove = (hash: string, finishedHoursAgo: number | null = null) =>
    c.database.pool.query(
      `insert into media_deletions (id, hash, reason, requested_at, finished_at)
       values ($1, $2, 'request', now() - make_interval(hours => coalesce($3, 0)), now() - make_interval(hours => $3))`,
      [randomUUID(), hash, finishedHoursAgo],
    );
  const isRefused = async (hash: string) => (await deleted.refusalOf(hash)) !== null;

  test('what is deleted is known at the start, and what comes later within two seconds and again when the media is made again, and caches drop it', async () => {
    await remove('before');
    await deleted.start();
    expect(deleted.isRecent(addressOf('before'))).toBe(true);
    await remove('later');
    await expect.poll(() => deleted.isRecent(addressOf('later')), { timeout: 2_000 }).toBe(true);
    expect(await isRefused('later')).toBe(true);
    await c.database.pool.query(`update media_deletions set lifted_at = now() where hash = 'later'`);
    await expect.poll(() => deleted.isRecent(addressOf('later')), { timeout: 2_000 }).toBe(false);
    expect(await isRefused('later')).toBe(false);
    expect(forgotten).toEqual(['before', 'later', 'later']);
    expect(deleted.isRecent(addressOf('other'))).toBe(false);
  });

  test('what was finished more than an hour ago is not kept in memory', async () => {
    await remove('old', 2);
    await remove('new');
    await deleted.start();
    expect(deleted.isRecent(addressOf('new'))).toBe(true);
    expect(deleted.isRecent(addressOf('old'))).toBe(false);
  });

  test('with more deletions than memory is given to, the database is asked about every media', async () => {
    for (let index = 0; index < recentMax; index += 1) await remove(`deleted-${index}`);
    await deleted.start();
    expect(deleted.isRecent(addressOf('deleted-0'))).toBe(true);
    await remove('one-more');
    await expect.poll(() => forgotten).toContain('one-more');
    expect(deleted.isRecent(addressOf('live'))).toBe(true);
    expect(await isRefused('one-more')).toBe(true);
    expect(await isRefused('live')).toBe(false);
  });
});
