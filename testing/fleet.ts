import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestContext } from 'vitest';
import { type JobType, jobTypes } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { openRedisTicketQueue } from '#platform/queue/redis-ticket-queue.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { newJobOf } from './new-job.ts';
import { makeFolders, readerOf, until, workspacesIn } from './controller-rig.ts';
import { migratedDatabase } from './databases.ts';
import { hastyVariables, type Program, startProgram } from './programs.ts';
import { startProxy } from './proxy.ts';
import { startRedis } from './servers.ts';

// The program as several processes, on a database, a Redis and folders of the test's own, each server behind a proxy.
// The test's own requests go to the servers directly.

export type Fleet = Awaited<ReturnType<typeof openFleet>>;

/** A fleet that ends with the test of this context: tests of one file may run at once. */
export async function openFleet({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const { dir, source, media, work } = await makeFolders('reelwright-fleet-');
  const testDatabase = await migratedDatabase();
  const redisServer = await startRedis();
  const [databaseProxy, redisProxy] = [await startProxy(testDatabase.url), await startProxy(redisServer.url)];
  const log = createLogger({ level: 'silent', name: 'test' });
  const database = openDatabase(testDatabase.url);
  const jobs = new JobStore(database);
  const queue = openRedisTicketQueue({ url: redisServer.url, log });
  const base = hastyVariables({
    databaseUrl: databaseProxy.url,
    redisUrl: redisProxy.url,
    source,
    media,
    work,
  });
  const { find, finished } = readerOf(jobs);
  const programs: Program[] = [];
  const start = async (mode: 'server' | 'worker' | 'all', env: Record<string, string> = {}): Promise<Program> => {
    const program = await startProgram({ args: [`--mode=${mode}`], env: { ...base, ...env } });
    programs.push(program);
    return program;
  };
  onTestFinished(async () => {
    for (const program of programs) await program.end();
    await queue.close();
    await database.close();
    await databaseProxy.close();
    await redisProxy.close();
    await redisServer.stop();
    await testDatabase.drop();
    await rm(dir, { recursive: true, force: true });
  });

  return {
    database,
    databaseProxy,
    redisProxy,
    jobs,
    queue,
    find,
    start,
    async addSource(key: string, file: string): Promise<void> {
      await mkdir(dirname(join(source, key)), { recursive: true });
      await copyFile(file, join(source, key));
    },
    /** A row and its ticket, as the API makes them. */
    async submit(type: JobType, key: string, more: { callbackUrl?: string; options?: object } = {}): Promise<string> {
      const request = { type, hash: `media-${randomBytes(4).toString('hex')}`, source: key };
      const options = jobTypes[type].options.parse(more.options ?? {});
      const { size } = await stat(join(source, key));
      const { job } = await jobs.insertOrFind({
        ...newJobOf({ ...request, options }),
        sourceSizeBytes: size,
        callbackUrl: more.callbackUrl ?? null,
      });
      await queue.add({ jobId: job.id, attempt: 1, queue: 'default' });
      return job.id;
    },
    finished,
    reached: (id: string, phase: Job['phase']) =>
      until(
        () => find(id),
        (job) => job.phase === phase,
      ),
    /** The folders that are the buckets. */
    source,
    media,
    workspaces: () => workspacesIn(work),
  };
}
