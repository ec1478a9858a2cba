import { randomUUID } from 'node:crypto';
import { DatabaseError } from 'pg';
import { rerunPrefix } from '#domain/jobs/idempotency.ts';
import { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import { sketchBits } from '#domain/playback/session-sketch.ts';
import { throughputRanges } from '#domain/playback/throughput-counts.ts';
import { PlaybackDayStore } from '#platform/postgres/playback-day-store.ts';
import { decidePlayback, PlaybackStore } from '#platform/postgres/playback-store.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import type { Database } from '#platform/postgres/database.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { LockedHash } from '#platform/postgres/deletion-fence.ts';
import { giveUpKeyOfDeleted, takeKeyOfPublished, settleKeyOfCompleted } from '#platform/postgres/equal-keys.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { listMedia, type MediaFilter } from '#platform/postgres/media-list.ts';
import { MediaStore } from '#platform/postgres/media-store.ts';
import { deletedHash, idOfRow, uncoveredHashes } from './many-rows.ts';

type Query = readonly [what: string, examinedMax: number, call: (d: Database) => Promise<unknown>];

/** A transaction in which an equal submission took the key meanwhile. */
const withTakenKey = ({ pool }: Database) => ({
  query: async (text: string, values?: unknown[]) => {
    if (text.includes('savepoint')) return { rows: [] };
    const answer = await pool.query(text, values);
    if (!text.includes('case')) return answer;
    throw Object.assign(new DatabaseError('duplicate key', 0, 'error'), { code: '23505' });
  },
});
const deletion = { id: idOfRow(5), hash: deletedHash };
const ended = { ownKey: `${rerunPrefix}none`, hasNewerStream: true };
const isThere = () => Promise.resolve();
const filters: readonly MediaFilter[] = [
  { by: 'age', createdAfter: null, createdBefore: null },
  { by: 'prefix', prefix: 'b' },
  { by: 'expiry', expiresBefore: new Date() },
  { by: 'bytes', bytesMin: 1 },
  { by: 'search', words: `'b':*`, prefix: 'b' },
  { by: 'metadata', metadata: { customer: '42' }, prefix: '' },
];

const said = { jobId: idOfRow(5), isNew: true, change: { title: 'A title', metadata: { a: 'b' } } };

const store = (d: Database) => new MediaDeletionStore(d);

const played = {
  hash: 'busy',
  requests: 1,
  starved: 0,
  sessionBits: '0'.repeat(sketchBits),
  throughputs: Array.from({ length: throughputRanges }, () => 0),
};

/** The queries about media and their deletions, of a hash that has many jobs too. */
export function mediaQueries(): Query[] {
  const purge = { url: 'http://cdn.example/', eventId: randomUUID() };
  return [
    ['media: one of many jobs', 6_000, (d) => new MediaStore(d).find('busy')],
    ['media: whether it is known', 10, (d) => new MediaStore(d).isKnown('busy')],
    ['media: expiry and hold', 10, (d) => new MediaStore(d).change('busy', { legalHold: true })],
    ['media: a title', 10, (d) => new MediaStore(d).change('busy', { title: 'A title' })],
    ['media: what a submission says', 10, (d) => new JobStore(d).describeMedia(said)],
    [
      'media: an earlier stream',
      200,
      (d) => new MediaStore(d).publishEarlier({ hash: 'busy', rev: '0'.repeat(16), publish: isThere }),
    ],
    [
      'media: an earlier stream in place of a known one',
      200,
      (d) =>
        new MediaStore(d)
          .publishEarlier({ hash: 'busy', rev: '0'.repeat(16), replaces: idOfRow(5), publish: isThere })
          .catch(() => false),
    ],
    ...filters.map((filter): Query => {
      return [`media: a list by ${filter.by}`, 0, (d) => listMedia(d, filter, { after: null, limit: 51 })];
    }),
    ['media: a hold', 0, (d) => new LockedHash(d.pool as never).isHeld('busy')],
    ['media: whether it is being deleted', 0, (d) => new LockedHash(d.pool as never).isBeingDeleted(deletion.id)],
    ['deletion: of a media without jobs', 10, (d) => store(d).forgetOrphan('busy')],
    ['deletion: begun', 200, (d) => store(d).begin({ id: idOfRow(7), hash: 'busy', reason: 'request', purge })],
    ['deletion: found', 0, (d) => store(d).find(deletedHash)],
    ['deletion: due ones', 1_000, (d) => store(d).claim(1)],
    ['deletion: deferred', 0, (d) => store(d).defer(deletion.id, 1_000)],
    ['deletion: jobs that are active', 1_000, (d) => store(d).activeJobs(deletion.id)],
    ['deletion: jobs with working objects', 2_000, (d) => store(d).unsweptJobs(deletedHash)],
    ['deletion: chunked encodes', 10, (d) => store(d).noteChunked([{ id: idOfRow(5), revs: ['r'] }])],
    ['deletion: its objects', 0, (d) => store(d).recordObjects(deletion.id, { objects: 1, bytes: 1, sha256: 'x' })],
    ['deletion: removed objects', 0, (d) => store(d).countDeleted(deletion.id, 1)],
    ['deletion: ended', 10, (d) => store(d).finish(deletion, () => ({}) as never)],
    ['deletion: expired media', 0, (d) => store(d).expired(100)],
    ['deletion: old receipts', 0, (d) => store(d).forgetReceipts(86_400_000)],
    ['rerun: its key', 10, (d) => settleKeyOfCompleted(withTakenKey(d) as never, deletion, ended)],
    ['media: its key after a publication', 10, (d) => takeKeyOfPublished(withTakenKey(d) as never, idOfRow(5))],
    ['deletion: the key of a job', 10, (d) => giveUpKeyOfDeleted(d.pool, 'none')],
    ...uncoveredHashes.map((hash): Query => {
      return [
        `deletion: begun again, ${hash}`,
        200,
        // Each statement has a transaction of its own here, so the earlier one is not lifted.
        (d) =>
          store(d)
            .begin({ id: idOfRow(7), hash, reason: 'request', purge })
            .catch(() => null),
      ];
    }),
    ['deletion: expired', 200, (d) => store(d).begin({ id: idOfRow(7), hash: 'busy', reason: 'expiry', purge })],
    ['delivery: recent deletions', 0, (d) => new DeletedMediaStore(d).recent(100_000)],
    ['delivery: changed deletions', 0, (d) => new DeletedMediaStore(d).changed(100_000)],
    ['delivery: whether a media is deleted', 0, (d) => new DeletedMediaStore(d).isDeleted('busy')],
    ['delivery: decided playback', 0, (d) => new PlaybackStore(d).all(200_000)],
    ['delivery: changed playback', 0, (d) => new PlaybackStore(d).changed(200_000)],
    ['delivery: how a media plays', 0, (d) => new PlaybackStore(d).find('busy')],
    ['media: how it is to play', 10, (d) => decidePlayback(d.pool as never, 'busy', { mode: 'signed', purge: null })],
    ['delivery: days of playback', 100, (d) => new PlaybackDayStore(d).add([played])],
    ['media: days of playback', 0, (d) => new PlaybackDayStore(d).find('busy', 30)],
    ['retention: days of playback', 0, (d) => new RetentionStore(d).deletePlaybackDays({ retentionMs: 1, limit: 100 })],
    ['media: withdrawn tickets', 10, (d) => new PlaybackStore(d).withdraw('busy', purge)],
  ];
}
