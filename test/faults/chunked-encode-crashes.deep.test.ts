import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { jobTypes } from '#domain/job-types/index.ts';
import { exampleJob } from '../../testing/example-job.ts';
import type { Job } from '#domain/jobs/job.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { type UnitDependencies, runUnits } from '../../controller/process/run-units.ts';
import { type CountedFfmpeg, countedFfmpeg } from '../../testing/counted-ffmpeg.ts';
import { sample } from '../../testing/media.ts';
import { checkout } from '../../testing/checkout.ts';
import { contentKey, removeRigs, type RunnerRig, runnerRig } from '../../testing/runner.ts';

// A crash before and after each kind of write of a chunked encode. The process that writes kills itself, and the next
// attempt goes on with what is stored.

let ffmpeg: CountedFfmpeg | undefined;
afterAll(async () => {
  await removeRigs();
  await ffmpeg?.remove();
});

it('a chunk that fails is encoded again in its attempt, as often as its kind may fail', async () => {
  const source = await clip();
  await ffmpeg?.remove();
  ffmpeg = await countedFfmpeg();
  const rig = await runnerRig('video:transcode', source);
  const job = jobOf();
  const before = (await ffmpeg.encodes()).length;
  const end = await attempt(rig, job, { crash: 'before /results/0.json', triesAgain: true });
  expect(end).toMatchObject({ kind: 'failed', exitCode: null });
  expect((await ffmpeg.encodes()).slice(before)).toEqual([0, 0, 0]);
  const next = { ...job, attempt: 2 };
  expect(await attempt(rig, next, { crash: 'after /results/0.json', triesAgain: true })).toEqual({ kind: 'done' });
});

function clip(): Promise<string> {
  const inputs = '-f lavfi -i testsrc2=s=192x108:r=10:d=19 -f lavfi -i sine=f=440:r=48000:d=19';
  return sample('crashed.mp4', `${inputs} -c:v libx264 -g 20 -pix_fmt yuv420p -c:a aac`);
}

function jobOf(): Job {
  const options = jobTypes['video:transcode'].options.parse({ encrypt: true });
  return exampleJob({ id: randomUUID(), type: 'video:transcode', hash: 'clip-1', source: 'clip', options });
}

/** An attempt of a worker that stops at the first failure, or else tries again. */
async function attempt(rig: RunnerRig, job: Job, { crash = '', chunkParallelism = 1, triesAgain = false } = {}) {
  const workspace = await mkdtemp(join(rig.dir, 'attempt-'));
  const stop = new AbortController();
  const destination = {
    write: (line: string) => (triesAgain || !line.includes('trying again') ? undefined : stop.abort()),
  };
  const log = createLogger({ level: 'warn', name: 'test', destination });
  const media = { MEDIA_BUCKET: `file:${rig.media}` };
  const dependencies: UnitDependencies = {
    jobs: { report: () => Promise.resolve() },
    contentKeys: {
      findOrCreate: () => Promise.resolve({ kid: contentKey.kid, key: Buffer.from(contentKey.key, 'hex') }),
    },
    log,
    runner: { program: process.execPath, script: join(checkout, 'runner/main.ts') },
    base: {
      PATH: process.env['PATH'] ?? '',
      FFMPEG_PATH: ffmpeg?.program ?? '',
      X264_PRESET: 'ultrafast',
      NODE_OPTIONS: `--import=${pathToFileURL(join(checkout, 'test/fixtures/crash-at-write.ts')).href}`,
      CRASH_AT: crash,
    },
    storage: { source: { SOURCE_BUCKET: `file:${join(rig.dir, 'source')}` }, media },
    isolation: null,
    warmRunners: { run: () => Promise.reject(new Error('a chunked encode has no warm runner')) },
    baseUrl: 'https://media.example',
    maxFileSizeBytes: 20 * 1024 ** 3,
    stepTimeoutMs: 600_000,
    clock: () => new Date(),
    media: openObjectStore({ bucket: `file:${rig.media}`, dir: rig.media }),
    chunkSec: 6,
    chunkParallelism,
  };
  await mkdir(workspace, { recursive: true });
  const trace = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00` };
  return runUnits({ job, trace, workspace, onUnit: () => undefined, signal: stop.signal }, dependencies);
}
