import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { type JobType, jobTypes } from '#domain/job-types/index.ts';
import { ticketOf } from '#jobs/submission/enqueue.ts';
import { type Cgroup, openCgroup } from '../../testing/cgroup.ts';
import { checkout } from '../../testing/checkout.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';
import { shortClip, smallImage } from '../../testing/faults/sources.ts';
import { newJobOf } from '../../testing/new-job.ts';

// The usage of the day beside the kernel's own count of the cgroup that all runners are in.

const cgroup = await openCgroup();
const howMany: readonly (readonly [JobType, number])[] = [
  ['image:thumbnail', 260],
  ['video:cover', 20],
  ['video:preview', 10],
  ['video:transcode', 10],
];
const jobsPerKill = 10;

describe.skipIf(!inject('postgres') || cgroup === null)('usage beside the cgroup of the runners', () => {
  const counted = cgroup as Cgroup;
  let rig: Rig;
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-counted-'));
    await mkdir(join(folder, 'bin'));
    rig = await openRig({
      SOURCE_BUCKET: `file:${folder}`,
      WORKER_CONCURRENCY: '2',
      LARGE_WORKER_CONCURRENCY: '2',
      JOB_ATTEMPTS: '5',
      LEASE_DURATION: '15s',
    });
  });
  afterEach(async () => {
    await rig.close();
    await counted.remove();
    await rm(folder, { recursive: true, force: true });
  });

  /** A program that joins the cgroup before it runs. */
  async function countedProgram(name: string, program: string): Promise<string> {
    const path = join(folder, 'bin', name);
    await writeFile(path, `#!/bin/sh\necho 0 > ${counted.procs}\nexec ${program} "$@"\n`, { mode: 0o755 });
    return path;
  }

  async function submitAll(): Promise<number> {
    await copyFile(await shortClip(), join(folder, 'clip'));
    await copyFile(await smallImage(), join(folder, 'image'));
    const types = howMany.flatMap(([type, count]) => Array.from({ length: count }, () => type));
    for (const [index, type] of types.entries()) {
      const source = type === 'image:thumbnail' ? 'image' : 'clip';
      const options = jobTypes[type].options.parse({});
      const { job } = await rig.jobs.insertOrFind(newJobOf({ type, hash: `counted-${index}`, source, options }));
      await rig.queue.add(ticketOf(job));
    }
    return types.length;
  }

  const finishedJobs = async () => (await sums('jobs', 'used_')).rows[0]?.jobs ?? 0;

  /** Kills any process of the cgroup, a runner or a tool, for every tenth job. */
  async function killUntil(signal: AbortSignal): Promise<number> {
    let kills = 0;
    while (!signal.aborted) {
      await sleep(20 + Math.random() * 200, undefined, { signal }).catch(() => undefined);
      if (signal.aborted || (await finishedJobs()) < kills * jobsPerKill) continue;
      const pids = await counted.pids();
      const pid = pids[Math.floor(Math.random() * pids.length)];
      if (pid === undefined) continue;
      try {
        process.kill(pid, 'SIGKILL');
        kills += 1;
      } catch {
        // It has just ended.
      }
    }
    return kills;
  }

  const sums = (table: string, prefix: string) =>
    rig.database.pool.query<{ jobs: number; usedMs: number; wastedMs: number }>(
      `select ${prefix === '' ? 'sum(jobs)' : 'count(finished_at)'}::float8 as jobs,
        sum(${prefix}fetch_ms + ${prefix}process_ms + ${prefix}publish_ms)::float8 as "usedMs",
        sum(${prefix}wasted_ms)::float8 as "wastedMs" from ${table}`,
    );

  it('C37.23: of 300 jobs, one in ten killed, usage is within 3 % of what the kernel counted', async () => {
    const names = ['FFMPEG_PATH', 'FFPROBE_PATH', 'PACKAGER_PATH'];
    const tools = Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
    const script = join(checkout, 'runner/main.ts');
    const program = await countedProgram('node', process.execPath);
    const path = process.env['PATH'] ?? '';
    await countedProgram('unshare', findProgram('unshare', path));
    const total = await submitAll();
    const variables = { ...tools, X264_PRESET: 'ultrafast', PATH: `${join(folder, 'bin')}:${path}` };
    const worker = rig.startWorker({}, { runner: { program, script, variables } });
    const killing = new AbortController();
    const killed = killUntil(killing.signal);
    await until(finishedJobs, (jobs) => jobs === total, 900_000);
    killing.abort();
    const kills = await killed;
    await worker.stop();
    await until(
      () => counted.pids(),
      (pids) => pids.length === 0,
    );
    const kernelMs = await counted.usedMs();
    const [ofDays, ofJobs] = await Promise.all([sums('usage_daily', ''), sums('jobs', 'used_')]);
    const usage = ofDays.rows[0];
    expect(usage).toEqual(ofJobs.rows[0]);
    expect(usage?.jobs).toBe(total);
    expect(kills).toBeGreaterThanOrEqual(total / jobsPerKill);
    const ratio = (usage?.usedMs ?? 0) / kernelMs;
    process.stdout.write(`${JSON.stringify({ ...usage, kernelMs, kills, ratio })}\n`);
    expect(Math.abs(ratio - 1)).toBeLessThan(0.03);
  }, 1_200_000);
});

function findProgram(name: string, path: string): string {
  const found = path.split(':').find((each) => existsSync(join(each, name)));
  if (found === undefined) throw new Error(`no ${name} in ${path}`);
  return join(found, name);
}
