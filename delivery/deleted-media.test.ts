import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { DeletedMedia } from './deleted-media.ts';

const addressOf = (hash: string) => `/stream/${hash}/master.m3u8`;
const fail = (error: Error): never => {
  throw error;
};

/** The table of deletions, which may be away; counts its queries. */
const table = {
  deleted: new Set<string>(),
  isAway: false,
  queries: { recent: 0, changed: 0, isDeleted: 0 },
};
const warnings: string[] = [];
const log = { warn: (_fields: object, text: string) => void warnings.push(text) } as unknown as Logger;
let media: DeletedMedia;
let calls: number;
let forgotten: string[];

beforeEach(() => {
  table.deleted.clear();
  table.isAway = false;
  table.queries = { recent: 0, changed: 0, isDeleted: 0 };
  warnings.length = 0;
  forgotten = [];
  const ask = async <Answer>(query: keyof typeof table.queries, answer: () => Answer): Promise<Answer> => {
    table.queries[query] += 1;
    return table.isAway ? fail(new Error('the database is away')) : answer();
  };
  const store = {
    recent: () => ask('recent', () => [...table.deleted]),
    changed: () => ask('changed', () => []),
    isDeleted: (hash: string) => ask('isDeleted', () => table.deleted.has(hash)),
  };
  media = new DeletedMedia({ store, log });
  calls = 0;
  media.onDeleted((hashes) => {
    calls += 1;
    forgotten.push(...hashes);
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await media.stop();
});

/** From now on the clock is so much later. */
function moveClock(ms: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}

describe('DeletedMedia', () => {
  it('thousands that are deleted at once are dropped from the caches by one call, and so are those made again', async () => {
    for (let n = 0; n < 5000; n++) table.deleted.add(`media-${n}`);
    await media.start();
    expect([forgotten.length, calls]).toEqual([5000, 1]);
    table.deleted.clear();
    moveClock(31_000);
    await expect.poll(() => forgotten.length, { timeout: 5_000 }).toBe(10_000);
    expect(calls).toBe(2);
  });

  it('C29.11: while the database is away what is known stays deleted, and it is asked once a second', async () => {
    table.deleted.add('a');
    await media.start();
    table.isAway = true;
    for (let n = 0; n < 3; n++) expect((await media.refusalOf('a'))?.code).toBe('media_deleted');
    expect(await media.isDeleted('b')).toBe(false);
    expect(table.queries.isDeleted).toBe(1);
    moveClock(1_100);
    expect([await media.isDeleted('a'), table.queries.isDeleted]).toEqual([true, 2]);
  });

  it('C29.11: after an outage all deletions are read again, and the log has one line of it', async () => {
    await media.start();
    table.isAway = true;
    await expect.poll(() => table.queries.recent, { timeout: 5_000 }).toBeGreaterThan(1);
    table.deleted.add('a');
    table.isAway = false;
    await expect.poll(() => media.isRecent(addressOf('a')), { timeout: 5_000 }).toBe(true);
    expect(warnings).toEqual(['deleted media not read']);
  }, 10_000);

  it('what is no longer listed is forgotten once more and answered again', async () => {
    table.deleted.add('a');
    await media.start();
    table.deleted.delete('a');
    moveClock(31_000);
    await expect.poll(() => media.isRecent(addressOf('a')), { timeout: 5_000 }).toBe(false);
    expect([forgotten, await media.refusalOf('a')]).toEqual([['a', 'a'], null]);
  }, 10_000);

  it('the start fails for no database, and nothing is deleted until one answers', async () => {
    table.isAway = true;
    await media.start();
    expect([media.isRecent(addressOf('a')), warnings.length]).toEqual([false, 1]);
  });

  it('C29.11: what is missing is explained by a deletion, and no other failure is', async () => {
    table.deleted.add('old');
    const failWith = (error: Error) => media.answerUnlessDeleted('old', async () => fail(error));
    const missing = new KnownProblem('not_found', 'There is no such object.');
    await expect(failWith(missing)).rejects.toMatchObject({ code: 'media_deleted' });
    await expect(failWith(new KnownProblem('busy'))).rejects.toMatchObject({ code: 'busy' });
    await expect(failWith(new Error('connection lost'))).rejects.toThrow('connection lost');
    await expect(media.answerUnlessDeleted('live', async () => fail(missing))).rejects.toBe(missing);
    await expect(media.answerUnlessDeleted(null, async () => fail(missing))).rejects.toBe(missing);
    expect(await media.answerUnlessDeleted('live', async () => 'found')).toBe('found');
  });

  it('C29.15: a media that is made again is answered before this server has read of it', async () => {
    table.deleted.add('a');
    await media.start();
    table.deleted.delete('a');
    expect(await media.refusalOf('a')).toBeNull();
  });

  it('requests for one media at once are one query, which is remembered for a second', async () => {
    expect(await Promise.all([media.isDeleted('a'), media.isDeleted('a')])).toEqual([false, false]);
    table.deleted.add('a');
    expect([await media.isDeleted('a'), table.queries.isDeleted]).toEqual([false, 1]);
    moveClock(1_100);
    // lru-cache looks at the clock once a millisecond.
    await expect.poll(() => media.isDeleted('a')).toBe(true);
  });
});
