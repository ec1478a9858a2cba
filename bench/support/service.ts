import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { type Program, secrets } from '../../testing/programs.ts';
import { startOnOwnServers } from './own-servers.ts';

// The whole service in one process, mode `all` with the process executor, on PostgreSQL, Redis and two folders. The
// processor time of the two servers is not counted.

/** A job that has completed. */
export interface CompletedJob {
  readonly sentAtMs: number;
  /** By the database's clock, which is this machine's. */
  readonly endedAtMs: number;
}

export interface Service {
  readonly program: Program;
  /** The folder of the source bucket. */
  readonly sourceDir: string;
  addSource(key: string, bytes: Buffer): Promise<void>;
  /** Submits a job and waits for its end. @throws Error when it does not complete */
  complete(job: object): Promise<CompletedJob>;
  /** Submits all jobs at once and waits for the end of the last. @throws Error when one does not complete */
  completeAll(jobs: readonly object[]): Promise<CompletedJob>;
}

const answerSchema = z.object({ job_id: z.string() });
const jobSchema = z.object({ status: z.string(), updated_at: z.string(), error: z.unknown() });
const listSchema = z.object({ jobs: z.array(z.unknown()) });
/** Every request for a job's state is processor time of the service: a long job is looked at less often. */
const pollMs = { brief: 15, long: 500 };
const briefJobMs = 2_000;

/** Starts the service; what must be stopped is added to `stops`. */
export async function startService(
  stops: (() => Promise<void>)[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Service> {
  const { program, sourceDir } = await startOnOwnServers(stops, {
    variables: { API_RATE_LIMIT_PER_MINUTE: '1000000', ...variables },
  });
  const dispatcher = new Agent({ connections: 32 });
  stops.push(() => dispatcher.close());
  const headers = { 'content-type': 'application/json', 'x-api-key': secrets.API_KEY };
  const call = async (path: string, body?: string) => {
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await request(`${program.url}${path}`, { method, headers, body: body ?? null, dispatcher });
    const json: unknown = await answer.body.json();
    if (answer.statusCode >= 400) throw new Error(`${path}: ${answer.statusCode} ${JSON.stringify(json)}`);
    return json;
  };
  const isAnyLeft = async (status: string) =>
    listSchema.parse(await call(`/api/jobs?status=${status}&limit=1`)).jobs.length > 0;
  const submit = async (job: object) => answerSchema.parse(await call('/api/jobs', JSON.stringify(job))).job_id;
  return {
    program,
    sourceDir,
    addSource: (key, bytes) => writeFile(join(sourceDir, key), bytes),
    async complete(job) {
      const sentAtMs = Date.now();
      const id = await submit(job);
      for (;;) {
        const endedAtMs = endOf(await call(`/api/jobs/${id}`));
        if (endedAtMs !== null) return { sentAtMs, endedAtMs };
        await sleep(Date.now() - sentAtMs < briefJobMs ? pollMs.brief : pollMs.long);
      }
    },
    async completeAll(jobs) {
      const sentAtMs = Date.now();
      const ids = await Promise.all(jobs.map(submit));
      while ((await isAnyLeft('queued')) || (await isAnyLeft('processing'))) await sleep(10 * pollMs.brief);
      const ends = await Promise.all(ids.map(async (id) => endOf(await call(`/api/jobs/${id}`)) ?? Number.NaN));
      return { sentAtMs, endedAtMs: Math.max(...ends) };
    },
  };
}

/** When a job completed; null: not yet. @throws Error when it failed */
function endOf(answer: unknown): number | null {
  const { status, updated_at: updatedAt, error } = jobSchema.parse(answer);
  if (status === 'completed') return Date.parse(updatedAt);
  if (status === 'failed') throw new Error(`the job failed: ${JSON.stringify(error)}`);
  return null;
}
