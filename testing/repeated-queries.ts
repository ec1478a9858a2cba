import { randomUUID } from 'node:crypto';
import type { PoolClient } from 'pg';
import { jobErrorOf } from '#domain/job-error.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import { BucketEventStore } from '#platform/postgres/bucket-event-store.ts';
import { CallbackStore } from '#platform/postgres/callback-store.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { dueKinds } from '#domain/work/due.ts';
import type { Database } from '#platform/postgres/database.ts';
import { type DueDelays, DueWorkStore } from '#platform/postgres/due-work.ts';
import { DeletionFence, LockedHash } from '#platform/postgres/deletion-fence.ts';
import { listJobs } from '#platform/postgres/job-list.ts';
import { failedWebhooks } from '#platform/postgres/failed-webhooks.ts';
import { JobQueries } from '#platform/postgres/job-queries.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { expireByDefault } from '#platform/postgres/job-end.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { jobTimeline } from '#platform/postgres/job-timeline.ts';
import { waitingReasonOf, waitingReasonsOf } from '#platform/postgres/job-waiting.ts';
import { countedMax, readOverview } from '#platform/postgres/overview.ts';
import { poolQueues, waitingCountedMax } from '#platform/postgres/pool-queues.ts';
import { PoolStore } from '#platform/postgres/pool-store.ts';
import { ProfileStore } from '#platform/postgres/profile-store.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { keptRows } from '../controller/upkeep/old-rows.ts';
import { idOfRow, type ManyRows } from './many-rows.ts';
import { keyQueries } from './key-queries.ts';
import { mediaQueries } from './media-queries.ts';
import { newJobOf } from './new-job.ts';
import { rolloutQueries } from './rollout-queries.ts';
import { usageQueries } from './usage-queries.ts';

/** The name of a query, the most rows that it may look at, and its call. */
export type RepeatedQuery = readonly [what: string, examinedMax: number, call: (d: Database) => Promise<unknown>];

const locked = ({ pool }: Database) => new LockedHash(pool as unknown as PoolClient);
const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => idOfRow(first + index));
const dayMs = 86_400_000;
const dueDelays = { ...(Object.fromEntries(dueKinds.map((kind) => [kind, dayMs])) as DueDelays), webhook: 0 };

/** All queries that are repeated, filters of lists, and what is done for each job, over the tables of `fillTables`. */
export function repeatedQueries(rows: ManyRows): RepeatedQuery[] {
  return [
    ...ofDueRows(),
    ...ofUploads(),
    ...mediaQueries(),
    ...keyQueries(),
    ...rolloutQueries(),
    ...usageQueries(),
    ...ofController(rows),
    ...ofWebhooks(rows),
    ...ofLists(rows),
    ...ofOneJob(rows),
  ];
}

/** The queries of cleanup and retention. */
function ofDueRows(): RepeatedQuery[] {
  const busy = { jobId: idOfRow(5), hash: 'busy' };
  return [
    ['cleanup: jobs that are due', 200, (d) => new CleanupStore(d).claim({ graceMs: 3_600_000, limit: 100 })],
    [
      'cleanup: the revisions that results name',
      100,
      (d) => new CleanupStore(d).namedRevisions(idsFrom(100, 100).map((jobId) => ({ jobId, rev: '0'.repeat(16) }))),
    ],
    // Each row once to lock it in its place, and once to change it.
    ['cleanup: a page that is done', 200, (d) => new CleanupStore(d).markSwept(idsFrom(100, 100))],
    ['retention: a page of streams', 200, (d) => new RetentionStore(d).markRevisionsDeleted(idsFrom(100, 100))],
    ['cleanup: the results of a job', 1, (d) => new CleanupStore(d).resultsOf(busy.jobId)],
    ['deletion: whether a chunked encode may be continued', 200, (d) => locked(d).mayBeContinued(busy, 3_600_000)],
    ['deletion: whether another job names a revision', 10, (d) => locked(d).isNamed(busy, '0'.repeat(16), 7 * dayMs)],
    [
      'retention: replaced streams',
      200,
      (d) => new RetentionStore(d).claimReplaced({ retentionMs: dayMs, limit: 100 }),
    ],
    ['retention: old jobs', 200, (d) => new RetentionStore(d).claimOld({ retentionMs: dayMs, limit: 100 })],
    ['retention: a page of jobs', 1_000, (d) => new RetentionStore(d).deleteJobs(idsFrom(150_001, 100))],
    ['deletion: the lock of a hash', 0, (d) => new DeletionFence(d).underLock('busy', () => Promise.resolve())],
    ['deletion: results that expire', 10, (d) => locked(d).expireResults(busy.jobId)],
    ['gauges: work that is due', dueKinds.length * 10_000, (d) => new DueWorkStore(d).count(dueDelays)],
  ];
}

/** The queries of uploads and events of the bucket. */
function ofUploads(): RepeatedQuery[] {
  const id = idOfRow(5);
  const named = { keyId: 'key', name: 'a.mp4', contentType: null, sha256: null, source: 'uploads/a.mp4' };
  const upload = { ...named, id, sizeBytes: 10, partSizeBytes: 10 };
  const version = { bucket: 'sources', key: 'a.mp4', version: 'v1' };
  return [
    ['upload: begun', 10, (d) => new UploadStore(d).insert(upload, { expiryMs: dayMs, openMax: 100 })],
    ['upload: found', 10, (d) => new UploadStore(d).find(id)],
    ['upload: its parts are named', 10, (d) => new UploadStore(d).setMultipart(id, 'parts')],
    ['upload: its completion begins', 10, (d) => new UploadStore(d).beginCompletion(id, 60_000)],
    ['upload: completed', 10, (d) => new UploadStore(d).complete(id, '"etag"')],
    ['upload: aborted', 10, (d) => new UploadStore(d).abort(id, 'deleted')],
    ['upload: expired ones', 200, (d) => new UploadStore(d).expire(100)],
    ['upload: ended ones to clean up', 200, (d) => new UploadStore(d).claimToCleanUp(100)],
    ['upload: cleaned up', 10, (d) => new UploadStore(d).markCleanedUp([id])],
    ...(Object.keys(keptRows) as (keyof typeof keptRows)[]).map((kind): RepeatedQuery => [
      `old rows: ${kind}`,
      200,
      (d) => new DueWorkStore(d).delete(kind, { delayMs: dayMs, limit: 100 }),
    ]),
    ...ofImports(id),
    ['bucket event: known version', 10, (d) => new BucketEventStore(d).find(version)],
    ['bucket event: the title of an upload', 10, (d) => new BucketEventStore(d).titleOf(`uploads/${id}/a.mp4`)],
    ['bucket event: noted', 10, (d) => new BucketEventStore(d).note(version, id)],
  ];
}

function ofImports(id: string): RepeatedQuery[] {
  const url = 'https://media.example.com/a.mp4';
  const named = { keyId: 'key', url, name: 'a.mp4', source: 'uploads/a.mp4', sha256: null, partSizeBytes: 10 };
  const lease = { id, owner: idOfRow(6) };
  const file = { multipartId: 'parts', sizeBytes: 10, contentType: null, validator: null, transferMsMax: dayMs };
  const ended = { url, etag: '"etag"', sizeBytes: 10, sha256: null };
  const failure = { url, code: 'not_found', httpStatus: 404 } as const;
  const after = { id, createdAt: new Date() };
  return [
    ['import: begun', 10, (d) => new ImportStore(d).insert({ ...named, id }, { openMax: 100, waitMsMax: dayMs })],
    ['import: found', 10, (d) => new ImportStore(d).find(id)],
    ['import: the first page', 100, (d) => new ImportStore(d).list({ after: null, limit: 50 })],
    ['import: a further page', 100, (d) => new ImportStore(d).list({ after, limit: 50 })],
    ['import: cancelled', 10, (d) => new ImportStore(d).cancel({ id, url })],
    ['import: whose are due', 100, (d) => new ImportStore(d).dueKeys()],
    ['import: due ones', 100, (d) => new ImportStore(d).claim(new Map([['k', 10]]), 30_000)],
    ['import: its lease', 10, (d) => new ImportStore(d).renew(lease, 30_000)],
    ['import: its file', 10, (d) => new ImportStore(d).noteFile(lease, file)],
    ['import: its progress', 10, (d) => new ImportStore(d).noteProgress(lease, 10)],
    ['import: an attempt ends', 10, (d) => new ImportStore(d).release(lease, { delayMs: 1_000, failures: 1 })],
    ['import: completed', 10, (d) => new ImportStore(d).complete(lease, ended)],
    ['import: failed', 10, (d) => new ImportStore(d).fail(lease, failure)],
    ['import: ended ones to clean up', 200, (d) => new ImportStore(d).claimToCleanUp(100)],
    ['import: cleaned up', 10, (d) => new ImportStore(d).markCleanedUp([id])],
  ];
}

/** The queries of the other tasks of a controller. */
function ofController(rows: ManyRows): RepeatedQuery[] {
  const waiting = idOfRow(rows.jobs - 1);
  const unexplained = { phase: null, status: 'queued', waitingReason: null };
  return [
    [
      'sweeper: jobs without a ticket',
      1_000,
      (d) => new JobStore(d).withoutTicket({ olderThanMs: 60_000, limit: 500 }),
    ],
    [
      'attempts: runs of a deleted Job',
      10,
      (d) => new JobStore(d).keepRuns({ jobId: idOfRow(5), attempt: 1 }, [{ pod: 'p' } as never]),
    ],
    ['attempts: runs that were kept', 10, (d) => new JobStore(d).keptRuns({ jobId: idOfRow(5), attempt: 1 })],
    ['sweeper: lapsed leases', 2_500, (d) => new JobStore(d).releaseLapsed()],
    ['gauges: jobs at work', 2_500, (d) => new JobStore(d).countAtWork()],
    ['gauges: the oldest waiting', 10, (d) => new JobStore(d).oldestWaitingSeconds()],
    ['batches: first attempts', 1_110, (d) => new JobStore(d).batchables(1_000)],
    ['batches: whether a job waits', 1, (d) => new JobStore(d).waitsForBatch(waiting)],
    ['batches: the number of claimed jobs', 2_500, (d) => new JobStore(d).countClaimed('worker-1', 1_000)],
    ['batches: claimed jobs', 2_500, (d) => new JobStore(d).claimedUnder('worker-1')],
    ['kubernetes: waiting jobs', 25, (d) => new JobStore(d).waiting({ forMs: 0, limit: 25 })],
    ['kubernetes: jobs of an owner', 2_500, (d) => new JobStore(d).claimedBy('worker-1')],
    ['why a job waits', 4_500, (d) => waitingReasonOf(d, { ...unexplained, id: waiting } as never)],
    [
      'why the jobs of a batch wait',
      3 * 4_500,
      (d) => waitingReasonsOf(d, [1, 2, 3].map((n) => ({ ...unexplained, id: idOfRow(rows.jobs - n) })) as never),
    ],
    ['kubernetes: the states of jobs', 2, (d) => new JobStore(d).statesOf([waiting])],
    ['pools of the cluster', 1, (d) => new PoolStore(d).read()],
    ['pools: jobs that wait', 1_000, (d) => new PoolStore(d).waitingJobs()],
    [
      // The claimed rows, and the first that waits of each key.
      'turns: who waits',
      2_110,
      (d) => new JobStore(d).lookAtPool('default', { owner: 'w', known: [{ id: waiting, attempt: 1 }] }),
    ],
    ['pools that change', 1, (d) => new PoolStore(d).replace({ pools: [], known: [] })],
    ['profiles of the cluster', 1, (d) => new ProfileStore(d).read()],
    ['profiles that change', 1, (d) => new ProfileStore(d).replace([])],
    ['an outage of the storage', 1, (d) => new JobStore(d).recordStorageOutage()],
    ['a job by its id', 1, (d) => new JobStore(d).find(waiting)],
    ['a followed job', 1, (d) => new JobQueries(d).find(waiting, true)],
    ['watched jobs', 1, (d) => new JobQueries(d).changed([{ id: waiting, since: new Date(0), hasResults: true }])],
  ];
}

function ofWebhooks(rows: ManyRows): RepeatedQuery[] {
  const due = idOfRow(0);
  const jobOfEvent = (event: number) => idOfRow(rows.jobs - rows.unfinished - 1 - event);
  const attempt = { delivery: 1, attempt: 1, startedAt: new Date(), durationMs: 1, statusCode: 200, error: null };
  return [
    ['webhooks: the event of a job', 110, (d) => new CallbackStore(d).find(jobOfEvent(0))],
    ['webhooks: those not delivered', 200, (d) => failedWebhooks(d, { after: null, limit: 51 })],
    [
      'webhooks: a test',
      10,
      (d) => new CallbackStore(d).insertTest({ eventId: randomUUID(), url: 'https://h1.example/', body: '{}' }),
    ],
    ['webhooks: what became of a test', 10, (d) => new CallbackStore(d).findTest(due)],
    ['webhooks: a redelivery', 10, (d) => new CallbackStore(d).redeliver(jobOfEvent(rows.ofOneHost + 1))],
    [
      'webhooks: an attempt',
      10,
      (d) => new WebhookEventStore(d).recordAttempt({ ...attempt, eventId: due, next: 'sent' }),
    ],
    ['webhooks: the last attempts', 20_000, (d) => new WebhookEventStore(d).lastAttempts(10_000)],
    ['webhooks: hosts with due events', 2_100, (d) => new WebhookEventStore(d).dueHosts({ after: '', limit: 1_000 })],
    [
      'webhooks: events of a host',
      20,
      (d) => new WebhookEventStore(d).take({ requests: new Map([['hanging.example', 4]]) }),
    ],
    ['webhooks: a host that is given up', 10, (d) => new WebhookEventStore(d).giveUp('hanging.example')],
  ];
}

function ofLists(rows: ManyRows): RepeatedQuery[] {
  const page = { after: null, limit: 51 };
  const last = { createdAt: new Date(Date.now() - 3 * dayMs), id: idOfRow(rows.jobs - 1) };
  const later = { after: last, limit: 51 };
  return [
    ...[
      {},
      { type: 'video:full' as const },
      { status: 'failed' as const },
      { hash: 'busy' },
      { hash: 'busy', type: 'video:cover' as const },
      { code: 'storage_error' as const },
      { code: 'storage_error' as const, hash: 'busy' },
      { code: 'storage_error' as const, prefix: 'bu' },
      { code: 'internal' as const },
      { prefix: 'bu', status: 'failed' as const },
      { createdAfter: new Date(0), createdBefore: new Date() },
    ].flatMap((filter) =>
      [page, later].map((shown): RepeatedQuery => [
        `the list by ${JSON.stringify(filter)}${shown.after === null ? '' : ', a later page'}`,
        51 * 25,
        (d) => listJobs(d, filter, shown),
      ]),
    ),
    ['the overview', 5 * countedMax.jobs, (d) => readOverview(d)],
    ['the pools, and why jobs wait', 2 * waitingCountedMax + 5_000, (d) => poolQueues(d)],
    ['the list by type and status', 60, (d) => listJobs(d, { type: 'video:full', status: 'completed' }, page)],
  ];
}

/** The queries for a job, by its id or its idempotency key. */
function ofOneJob(rows: ManyRows): RepeatedQuery[] {
  const [waiting, claimed, failed] = [idOfRow(rows.jobs - 1), idOfRow(rows.jobs - 10), idOfRow(1_007)];
  const current = { jobId: claimed, attempt: 1 };
  const lease = { ...current, owner: `worker-${(rows.jobs - 10) % 7}`, leaseMs: 60_000 };
  const request = { type: 'image:thumbnail' as const, hash: 'busy', source: 'in', options: { outputs: [] } };
  const equal = () => ({ ...newJobOf(request), idempotencyKey: 'key 100' });
  const stream = { init: `videos/ab/busy/${'0'.repeat(16)}/video/init.mp4` } as unknown as JobResults;
  const retry = (newJob: typeof equal) => (d: Database) =>
    new JobStore(d).createRetries({ jobId: failed, newJobs: () => [newJob()] });
  const keys = { encryptionKeys: ['a key of the tests'] };
  return [
    ['a submission', 10, (d) => new JobStore(d).insertOrFind(newJobOf(request))],
    ['a submission with a title', 10, (d) => new JobStore(d).insertOrFind({ ...newJobOf(request), title: 'A title' })],
    ['an equal submission', 10, (d) => new JobStore(d).insertOrFind(equal())],
    ['the timeline of a job', 10, (d) => jobTimeline(d, waiting)],
    ['a job as callers see it', 10, (d) => new JobStore(d).findShown(waiting)],
    ['the live job of a key', 10, (d) => new JobStore(d).findLive('key 100')],
    ['a retry', 10, retry(() => newJobOf(request))],
    ['a retry that is equal to a job', 10, retry(equal)],
    ['a further receiver', 10, (d) => new JobStore(d).addCallback(waiting, 'https://h2.example/')],
    ['a claim', 10, (d) => new JobStore(d).claim({ ...lease, jobId: waiting })],
    ['a lease that is renewed', 10, (d) => new JobStore(d).renewLease(lease)],
    ['the state of a lease', 10, (d) => new JobStore(d).leaseState(lease)],
    ['a report', 10, (d) => new JobStore(d).report({ ...current, phase: 'encoding', progress: 50 })],
    ['a reason to wait', 10, (d) => new JobStore(d).recordWaiting(current, { code: 'pool_full', message: 'full' })],
    ['the next attempt', 10, (d) => new JobStore(d).nextAttempt({ ...current, countsAsFailure: true, delayMs: 0 })],
    ['a claim that is given back', 10, (d) => new JobStore(d).giveBack({ ...current, delayMs: 0 })],
    [
      'the end of a job with a stream',
      20,
      (d) => {
        const end = { ...current, status: 'completed' as const, results: stream, error: null, eventId: randomUUID() };
        return new JobStore(d).finish({ ...end, beforeCommit: () => Promise.resolve() });
      },
    ],
    [
      'the end of a job with a webhook',
      20,
      (d) => {
        const error = jobErrorOf('storage_error', 1);
        return new JobStore(d).finish({ ...current, status: 'failed', results: null, error, eventId: randomUUID() });
      },
    ],
    ['the expiry of a media by its profile', 10, (d) => d.transaction((c) => expireByDefault(c, 'busy', dayMs))],
    // Nothing is kept, so the key is not there when it is read back.
    ['a content key', 10, (d) => new ContentKeyStore(d, keys).findOrCreate('busy').catch(() => null)],
  ];
}
