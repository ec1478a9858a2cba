import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { isAlive } from '#platform/commands/is-alive.ts';
import { dataFolderAt, type DataFolder, readOrMakeSecrets, type Secrets } from '../../demo/data-folder.ts';
import { listJobs } from '../../demo/jobs.ts';
import { demoExtras, makeSample, videoCommand } from '../../demo/sample.ts';
import { type Demo, startDemo } from '../../demo/start.ts';
import { chromiumPath, keepScreenshot, openPage } from '../../testing/browser.ts';
import { dropFile } from '../../testing/console-page.ts';
import { checkout } from '../../testing/checkout.ts';
import { startRecording } from '../../testing/recording.ts';

// The first five minutes: a video is dropped on the console of the demo, its chunks turn green, a worker is killed, the
// progress goes on, and the video plays. `make recording` writes the recording at the head of README.md (RECORDING).

/** How long the first chunk may take on a machine that does much beside. */
const encoding = { timeout: 180_000 };
const recordingPath = process.env['RECORDING'];
let folder: string;
let data: DataFolder;
let secrets: Secrets;
let video: Buffer;
let demo: Demo;

async function start(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-demo-'));
  // As root, PostgreSQL runs as another user, which must be able to enter this folder.
  await chmod(folder, 0o755);
  data = await dataFolderAt(join(folder, 'data'));
  secrets = await readOrMakeSecrets(data);
  const { signal } = new AbortController();
  const size = { width: 640, height: 360, frameRate: 24, durationSec: 24 };
  const file = join(folder, 'video.mp4');
  await makeSample({
    file,
    command: videoCommand(findProgram('ffmpeg', process.env), size, undefined, demoExtras),
    signal,
  });
  video = await readFile(file);
  const env = { ...process.env, X264_PRESET: 'ultrafast' };
  // A short video has as many chunks as a long one has in the demo.
  const settings = { CHUNK_LENGTH: '6s' };
  demo = await startDemo({ checkout, data, secrets, port: 0, env, settings, signal });
}

const api = () => ({
  baseUrl: demo.baseUrl,
  apiKey: secrets.values.API_KEY,
  signal: AbortSignal.timeout(120_000),
});

/** Progress of the one job that runs. */
async function progressOfJob() {
  const [job] = await listJobs('processing', api());
  return job === undefined ? null : { attempt: job.attempt, progress: job.progress };
}

describe.skipIf(chromiumPath === null)('the demo in a browser', () => {
  beforeAll(start);
  afterAll(async () => {
    await demo?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('the service itself has no route of the demo', async () => {
    const { baseUrl } = demo.service;
    const headers = { 'x-demo': '1', 'x-api-key': secrets.values.API_KEY };
    expect((await fetch(`${baseUrl}/demo/kill`, { method: 'POST', headers })).status).toBe(404);
    expect(await (await fetch(`${baseUrl}/console/`)).text()).not.toContain('demo/board');
  });

  it('a dropped video is encoded in chunks, goes on when a worker is killed, and plays with captions and chapters', async () => {
    const { page, errors, complaints } = await openPage({ width: 1200, height: 760 });
    await page.goto(`${demo.baseUrl}/#key=${secrets.values.API_KEY}`);
    await page.locator('.demo-board').waitFor();
    const recording = await startRecording(page);
    recording.section(1.5);
    await page.waitForTimeout(1000);
    await dropFile(page, { name: 'the coast.mp4', type: 'video/mp4', bytes: video });
    await recording.click('.uploads a');

    recording.section(8);
    const cells = page.locator('.cell[data-done=true]');
    await expect.poll(() => cells.count(), encoding).toBeGreaterThan(0);
    const before = await progressOfJob();
    const encoded = await cells.count();
    expect(before).toMatchObject({ attempt: 1 });
    const pids = [...demo.workers.pids];
    await recording.click('#kill-worker');
    await expect.poll(() => page.locator('.demo-workers').innerText()).toContain('was killed');
    await keepScreenshot(page, 'killed', 'demo');
    expect(pids.filter(isAlive)).toHaveLength(1);
    await expect.poll(() => demo.workers.pids.filter(isAlive).length).toBe(2);
    expect(demo.ended.aborted).toBe(false);

    // What is encoded stays so, and the progress gets farther than it was.
    const counts = [encoded];
    const status = () => page.locator('.title-line .badge').innerText();
    let after = before;
    while ((await status()) === 'processing') {
      const count = await cells.count();
      if ((await page.locator('.cell').count()) > 0) counts.push(count);
      after = (await progressOfJob()) ?? after;
      await page.waitForTimeout(200);
    }
    expect(await status()).toBe('completed');
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(after?.attempt).toBe(2);
    expect(after?.progress).toBeGreaterThan(before?.progress ?? 100);
    const log = (await readFile(data.log, 'utf8')).split('\n').filter((line) => line.includes('"chunks to encode"'));
    const rounds = log.map((line) => JSON.parse(line) as { attempt: number; chunks: number; finished: number });
    expect(rounds[0]).toMatchObject({ attempt: 1, chunks: 4, finished: 0 });
    expect(rounds.at(-1)).toMatchObject({ attempt: 2, chunks: 4 });
    expect(rounds.at(-1)?.finished).toBeGreaterThanOrEqual(encoded);

    recording.section(10.5);
    const player = page.frameLocator('reelwright-player iframe');
    await page.locator('reelwright-player').scrollIntoViewIfNeeded();
    await player.locator('#big-play').click();
    const frame = page.frames().find((each) => each.url().includes('/player/'));
    const time = () => frame?.evaluate<number>('document.querySelector("video").currentTime');
    await expect.poll(time).toBeGreaterThan(1);
    await player.locator('#captions-toggle').click();
    const titles = () => player.locator('#chapter option').allTextContents();
    await expect.poll(titles).toEqual(['0:00 The coast', '0:08 The bay', '0:16 The spiral']);
    expect(await player.locator('#captions option').allTextContents()).toHaveLength(3);
    expect(await player.locator('#audio option').allTextContents()).toHaveLength(2);
    await expect.poll(time).toBeGreaterThan(5);
    await player.locator('#settings').click();
    await page.waitForTimeout(1500);
    await keepScreenshot(page, 'plays', 'demo');
    expect([errors, complaints.filter((text) => text.startsWith('error: '))]).toEqual([[], []]);
    if (recordingPath !== undefined && recordingPath !== '') {
      const path = resolve(checkout, recordingPath);
      expect(await recording.write(path)).toBeGreaterThan(12);
      expect((await stat(path)).size).toBeLessThan(1.5e6);
    }
  });
});
