import { hash, randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import type { JobOptions, JobType } from '#domain/job-types/index.ts';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import { parseSubmission } from '#domain/jobs/submission.ts';
import { builtInMediaProfiles, type NamedProfile, profileDigest } from '#domain/media/profiles.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { failure, newJob } from './postgres-fixtures.ts';

// Rows of a version whose idempotency keys had the digest of the profile.

interface Request {
  readonly type: JobType;
  readonly hash: string;
  readonly source: string;
  readonly options: JobOptions;
}

function request(body: { type: JobType; hash: string; source?: string; options?: unknown }): Request {
  const { submission } = parseSubmission({ source: 'videos/a "b" \\ é 🎬.mp4', ...body });
  if (submission === undefined) throw new Error('the submission is valid');
  const { callbackUrl: _callbackUrl, ...given } = submission;
  return given;
}

const mobile = builtInMediaProfiles.byName.get('mobile') as NamedProfile;
const oldKey = (given: Request, profile: NamedProfile) =>
  hash('sha256', canonicalize({ ...given, profile: profileDigest(profile) }) ?? '');

describe.skipIf(!inject('postgres'))('idempotency keys of an earlier version', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let jobs: JobStore;

  beforeEach(async () => {
    testDatabase = await migratedDatabase();
    database = openDatabase(testDatabase.url);
    jobs = new JobStore(database);
  });
  afterEach(async () => {
    await database.close();
    await testDatabase.drop();
  });

  const migrateAgain = async () => {
    await database.pool.query(`delete from schema_migrations where name like '%-idempotency-keys.batches.sql'`);
    await migrate(database);
  };
  const insert = async (given: Request, profile: NamedProfile | null = null) => {
    const key = profile === null ? idempotencyKey(given) : oldKey(given, profile);
    const { job } = await jobs.insertOrFind(newJob({ ...given, id: randomUUID(), profile, idempotencyKey: key }));
    return job.id;
  };
  const found = async (given: Request) => (await jobs.findLive(idempotencyKey(given)))?.id;

  test('C11.24: jobs with a profile are found by type, hash, source and options alone', async () => {
    const options = { cover: { timestamp_sec: 0.1 }, preview: { start_sec: 1e-7, format: 'gif', fps: 7 } };
    const requests = [
      request({ type: 'video:transcode', hash: 'a' }),
      request({ type: 'video:transcode', hash: 'a', options: { encrypt: true } }),
      request({ type: 'video:full', hash: 'a', options }),
      request({ type: 'video:full', hash: 'a' }),
    ];
    const ids: string[] = [];
    for (const given of requests) ids.push(await insert(given, mobile));
    await migrateAgain();
    expect(await Promise.all(requests.map(found))).toEqual(ids);
    await migrateAgain();
    expect(await Promise.all(requests.map(found))).toEqual(ids);
  });

  test('the newest of live jobs that are equal now is found; failed jobs do not count', async () => {
    const given = request({ type: 'video:transcode', hash: 'several' });
    await insert(given);
    await insert(given, mobile);
    const newest = await insert(given, { ...mobile, crf: 31 });
    await jobs.finish(failure(await insert(given, { ...mobile, crf: 32 })));
    const plain = request({ type: 'video:transcode', hash: 'plain-last' });
    await insert(plain, mobile);
    const last = await insert(plain);
    await migrateAgain();
    expect([await found(given), await found(plain)]).toEqual([newest, last]);
    expect((await jobs.insertOrFind(newJob({ ...given, idempotencyKey: idempotencyKey(given) }))).isNew).toBe(false);
    expect((await database.pool.query('select from jobs')).rowCount).toBe(6);
    await migrateAgain();
    expect([await found(given), await found(plain)]).toEqual([newest, last]);
  });
});
