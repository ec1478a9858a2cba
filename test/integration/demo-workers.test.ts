import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { isAlive } from '#platform/commands/is-alive.ts';
import { dataFolderAt, readOrMakeSecrets } from '../../demo/data-folder.ts';
import { getJob, submitJob, waitForJob } from '../../demo/jobs.ts';
import { makeSample, testBars, videoCommand } from '../../demo/sample.ts';
import { choosePort, startService } from '../../demo/service.ts';
import { startWorkers, takeoverSettings } from '../../demo/workers.ts';
import { checkout } from '../../testing/checkout.ts';
import { until } from '../../testing/controller-rig.ts';

it('a worker of the demo that is killed in the middle of a job is replaced, and the job completes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-workers-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  // As root, PostgreSQL runs as another user, which must be able to enter this folder.
  await chmod(folder, 0o755);
  const data = await dataFolderAt(join(folder, 'data'));
  const secrets = await readOrMakeSecrets(data);
  const { signal } = new AbortController();
  const size = { width: 1280, height: 720, frameRate: 25, durationSec: 12 };
  const command = videoCommand(findProgram('ffmpeg', process.env), size, testBars);
  await makeSample({ file: join(data.source, 'video.mp4'), command, signal });
  const port = await choosePort('0');
  const given = { checkout, data, secrets, port, env: process.env, settings: takeoverSettings, signal };
  const options = { ...given, mode: 'server' as const };
  const service = await startService(options);
  onTestFinished(() => service.stop());
  const workers = await startWorkers(options);
  onTestFinished(() => workers.stop());
  const before = [...workers.pids];
  expect(before).toHaveLength(2);
  const api = { baseUrl: service.baseUrl, apiKey: secrets.values.API_KEY, signal };
  const id = await submitJob({ type: 'video:transcode', hash: 'killed', source: 'video.mp4', options: {} }, api);
  await until(
    () => getJob(id, api),
    ({ phase, progress }) => phase === 'encoding' && progress > 0,
    60_000,
  );
  const killed = await workers.killBusiest();
  expect(before).toContain(killed);
  expect(isAlive(killed)).toBe(false);
  const job = await waitForJob(id, api);
  expect(job).toMatchObject({ status: 'completed', attempt: 2 });
  expect(workers.pids).toHaveLength(2);
  expect(workers.pids).not.toContain(killed);
  expect([workers.ended.aborted, service.ended.aborted]).toEqual([false, false]);
}, 180_000);
