import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import { CallbackStore } from '#platform/postgres/callback-store.ts';
import { listJobs } from '#platform/postgres/job-list.ts';
import { JobQueries } from '#platform/postgres/job-queries.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { cleanupTask } from '../../controller/upkeep/cleanup.ts';
import { retentionTasks } from '../../controller/upkeep/retention.ts';
import { openRig, type Rig } from '../../testing/controller-rig.ts';
import { hostileSource, hostileTexts } from '../../testing/hostile-metadata.ts';
import { removeRigs, run, runnerRig } from '../../testing/runner.ts';

// What the real runner makes of hostile metadata, and texts that no runner would let through, in the rows of jobs:
// every query reads every row, and what leaves the process is strict JSON.

const callbackUrl = 'https://hooks.example/';

/** The results of the real runner. */
async function resultsOf(seed: number): Promise<JobResults> {
  const { file, folder } = await hostileSource(seed);
  const runner = await runnerRig('video:transcode', file);
  await rm(folder, { recursive: true });
  const { exitCode } = await run(runner, ['all']);
  const manifest = await runner.manifest();
  if (exitCode !== 0 || manifest === null) throw new Error(`the runner ended with ${exitCode}`);
  return manifest.results;
}

describe.skipIf(!inject('postgres'))('rows of jobs with hostile metadata', { timeout: 120_000 }, () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig.close();
  });
  afterAll(removeRigs);

  async function end(type: 'video:transcode' | 'image:thumbnail', results: unknown, message: string | null) {
    const id = await rig.submit('ok', {
      ticket: false,
      type,
      hash: 'hostile',
      idempotencyKey: randomUUID(),
      callbackUrl,
    });
    await rig.jobs.claim({ jobId: id, attempt: 1, owner: 'the test', leaseMs: 60_000 });
    const error = message === null ? null : { ...jobErrorOf('internal', 1), message, details: { log_tail: message } };
    const status = error === null ? 'completed' : 'failed';
    const final = {
      jobId: id,
      attempt: 1,
      status,
      results: results as JobResults,
      error,
      eventId: randomUUID(),
    } as const;
    expect(await rig.jobs.finish(final)).not.toBeNull();
    return id;
  }

  it('every query reads them, and cleanup, retention and webhooks work them off', async () => {
    const { database } = rig;
    const ids: string[] = [];
    for (const seed of [5, 6, 7]) ids.push(await end('video:transcode', await resultsOf(seed), null));
    for (const text of hostileTexts) {
      const title = text.toString();
      ids.push(await end('video:transcode', { chapters: { list: [{ title, [title.slice(0, 99)]: title }] } }, null));
      // Half of a pair, and NUL.
      ids.push(await end('image:thumbnail', { title: `${title}\ud83d\u0000` }, `${title}\udc4d\u0000`));
    }

    const read: unknown[] = [];
    for (const id of ids) read.push(await rig.find(id), await new CallbackStore(database).find(id));
    read.push(await new JobQueries(database).changed(ids.map((id) => ({ id, since: new Date(0), hasResults: true }))));
    for (const filter of [{}, { hash: 'hostile' }, { type: 'video:transcode' }, { status: 'failed' }] as const) {
      const page = await listJobs(database, filter, { after: null, limit: 100, hasResults: true });
      expect(page.length).toBeGreaterThan(10);
      read.push(page);
    }
    const { hosts } = await rig.webhookEvents.dueHosts({ after: '', limit: 10 });
    const requests = new Map(hosts.map(({ host }) => [host, 100]));
    const events = await rig.webhookEvents.take({ requests });
    expect(events.map(({ jobId }) => String(jobId)).toSorted()).toEqual(ids.toSorted());
    for (const json of [...events.map(({ body }) => body), JSON.stringify(read)]) {
      expect(json.isWellFormed()).toBe(true);
      expect(json).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/);
      JSON.parse(json);
    }
    // The strictest reader that there is: it refuses half a pair and NUL.
    const strict = 'select count(results::jsonb) + count(error::jsonb) + count(options::jsonb) as read from jobs';
    expect((await database.pool.query(strict)).rows).toEqual([{ read: String(ids.length * 2 + hostileTexts.length) }]);
    expect((await database.pool.query('select body::jsonb from webhook_events')).rowCount).toBe(ids.length);

    for (const { id } of events)
      await rig.webhookEvents.recordAttempt({
        eventId: id,
        delivery: 1,
        attempt: 1,
        startedAt: new Date(),
        durationMs: 1,
        statusCode: 200,
        error: null,
        next: 'sent',
      });
    await database.pool.query(`
      update jobs set finished_at = now() - interval '9 days', replaced_at = replaced_at - interval '9 days'`);
    const { signal } = new AbortController();
    await cleanupTask({ ...rig, metrics: new Metrics(), graceMs: 1_000 }).work(signal);
    const times = { jobRetentionMs: 86_400_000, revisionRetentionMs: 86_400_000 };
    const [revisions, jobs] = retentionTasks({ ...rig, ...times });
    await revisions?.work(signal);
    const expired = 'select count(*)::int as jobs from jobs where revision_deleted_at is not null and results_expired';
    expect((await database.pool.query(expired)).rows).toEqual([{ jobs: 2 }]);
    await database.pool.query('update jobs set retention_after = null');
    await jobs?.work(signal);
    expect((await database.pool.query('select from jobs')).rowCount).toBe(0);
  });
});
