import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { videoFullResults } from '#domain/job-types/video-full.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { decrypt, frameNumber, probeStreams, sample, similarity } from '../../testing/media.ts';
import {
  contentKey,
  keyEndpoint,
  keyEnvironment,
  removeRigs,
  run,
  type RunnerOutcome,
  type RunnerRig,
  runnerRig,
  runToResult,
  wholeTrack,
} from '../../testing/runner.ts';

// video:full, encrypted, in three processes of which only the last has the key; and its stages as single job types.

const seconds = 7;
const lastFrame = Math.round((seconds * 30_000) / 1001) - 1;
let source: string;

beforeAll(async () => {
  source = await sample(
    'moving.mkv',
    `-f lavfi -i testsrc2=s=640x360:r=30000/1001:d=${seconds} -f lavfi -i sine=f=440:r=48000:d=${seconds} ` +
      '-c:v libx264 -preset ultrafast -crf 18 -pix_fmt yuv420p -c:a flac',
  );
});
afterAll(removeRigs);

/** The bytes of every file that a job wrote to its workspace and its media bucket. */
async function bytesLeft(rig: RunnerRig): Promise<Buffer[]> {
  const entries = await readdir(rig.dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== 'source' && entry.name !== 'clip');
  return Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name))));
}

async function runAll(rig: RunnerRig, env: Record<string, string> = keyEnvironment): Promise<RunnerOutcome[]> {
  return [await run(rig, ['fetch']), await run(rig, ['process']), await run(rig, ['publish'], env)];
}

describe('an encrypted video:full', () => {
  let rig: RunnerRig<'video:full'>;
  let outcomes: RunnerOutcome[];
  let results: JobResults<'video:full'>;

  beforeAll(async () => {
    rig = await runnerRig('video:full', source, { cover: { timestamp_sec: 3 }, transcode: { encrypt: true } });
    outcomes = await runAll(rig);
    const manifest = await rig.manifest();
    if (manifest === null) throw new Error(outcomes.map(({ stderr }) => stderr).join('\n'));
    ({ results } = manifest);
  });

  it('an encrypted video:full ends with every stage ready, its artifacts and nothing to retry', () => {
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(videoFullResults.parse(results)).toEqual(results);
    const ready = { status: 'ready' };
    expect(results.stages).toEqual({ source: ready, cover: ready, preview: ready, transcode: ready });
    expect(results.artifacts).toMatchObject({ cover: { format: 'jpg' }, preview: { format: 'webp' } });
    expect(results.retry_plan).toMatchObject({ allowed: false, stages: [], job_types: [] });
    expect(results.encryption).toEqual({ scheme: 'cbcs', kid: contentKey.kid, key_endpoint: keyEndpoint });
    expect(results.streaming?.encrypted).toBe(true);
  });

  it('an encrypted stream decrypts with its key to the frames of the source', async () => {
    const clear = join(rig.dir, 'clear.mp4');
    const [track] = results.video_tracks ?? [];
    if (track === undefined) throw new Error('no track');
    await decrypt(await wholeTrack(rig, track), clear, contentKey, 'video');
    expect(await similarity(clear, source)).toBeGreaterThan(0.9);
    const [stream] = await probeStreams(clear);
    expect(Number(stream?.nb_read_packets)).toBe(Math.round((seconds * 30_000) / 1001));
  });

  it('the content key is in no file, no report and no log', async () => {
    const key = Buffer.from(contentKey.key, 'hex');
    for (const bytes of await bytesLeft(rig)) {
      expect(bytes.includes(key)).toBe(false);
      expect(bytes.includes(contentKey.key)).toBe(false);
    }
    for (const { stdout, stderr } of outcomes) expect(`${stdout}${stderr}`).not.toContain(contentKey.key);
  });
});

describe('a video:full in which a stage fails', () => {
  const { byName } = mediaProfilesSchema.parse({
    profiles: { small: { ladder: [{ short_side: 90, bitrate: 100_000 }] } },
  });

  it('a video:full with a failed stage publishes the others and plans a retry of that stage', async () => {
    const rig = await runnerRig('video:full', source, {}, byName.get('small'));
    const outcomes = await runAll(rig, { PACKAGER_PATH: '/bin/false' });
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    const manifest = await rig.manifest();
    expect(manifest).toMatchObject({
      status: 'failed',
      error: { code: 'packager_error', stage: 'transcode', retryable: true },
      results: {
        stages: {
          source: { status: 'ready' },
          cover: { status: 'ready' },
          preview: { status: 'ready' },
          transcode: { status: 'failed', error: 'packager_error', retryable: true },
        },
        retry_plan: { allowed: true, strategy: 'retry_tasks', stages: ['transcode'], job_types: ['video:transcode'] },
      },
    });
    const { artifacts } = manifest?.results ?? {};
    const keys = await rig.keys();
    expect(keys).toEqual(expect.arrayContaining([artifacts?.cover?.key, artifacts?.preview?.key]));
    expect(manifest?.results).not.toHaveProperty('streaming');
    expect(keys.filter((key) => key.endsWith('.m3u8'))).toEqual([]);
  });

  it('a stream that must be encrypted is never published in the clear', async () => {
    const rig = await runnerRig('video:full', source, { transcode: { encrypt: true } }, byName.get('small'));
    await runAll(rig, {});
    const manifest = await rig.manifest();
    expect(manifest).toMatchObject({ status: 'failed', error: { code: 'internal', stage: 'transcode' } });
    expect((await rig.keys()).filter((key) => /\.(m4s|m3u8)$/.test(key))).toEqual([]);
  });

  it('publish reads nothing of the workspace but the folder `made`', async () => {
    const rig = await runnerRig('video:cover', source);
    await run(rig, ['fetch', 'process']);
    for (const entry of await readdir(rig.workspace)) {
      if (entry !== 'made') await rm(join(rig.workspace, entry), { recursive: true });
    }
    expect(await run(rig, ['publish'])).toMatchObject({ exitCode: 0, error: null });
    // The cover, its digest and the manifest.
    expect(await rig.keys()).toHaveLength(3);
  });

  it('a source over the maximum size of its task is limit_exceeded before it is downloaded', async () => {
    const rig = await runnerRig('video:cover', source);
    const task = JSON.parse(rig.task) as { source: { bytes_max: number } };
    task.source.bytes_max = 1000;
    const outcome = await run({ ...rig, task: JSON.stringify(task) }, ['fetch']);
    expect(outcome).toMatchObject({ exitCode: 10, error: { code: 'limit_exceeded' } });
    expect(await readdir(rig.workspace)).toEqual([]);
  });
});

async function cover(options: object): Promise<{ results: JobResults<'video:cover'>; path: string }> {
  const rig = await runnerRig('video:cover', source, options);
  const { results } = await runToResult(rig);
  return { results, path: rig.at(results.key) };
}

describe('video:cover', () => {
  it('a cover is the frame that is shown at the requested time, with its timestamp', async () => {
    const { results, path } = await cover({ timestamp_sec: 2.01 });
    expect(results).toMatchObject({ format: 'jpg', width: 640, height: 360, timestamp_sec: 2.002, warnings: [] });
    expect(await similarity(path, source, frameNumber(60))).toBeGreaterThan(0.95);
  });

  it('C15.6: a cover from past the end is the last frame, with a warning', async () => {
    const { results, path } = await cover({ timestamp_sec: 400 });
    expect(results.timestamp_sec).toBeGreaterThan(seconds - 0.05);
    expect(results.warnings).toMatchObject([{ code: 'timestamp_past_end' }]);
    expect(await similarity(path, source, frameNumber(lastFrame))).toBeGreaterThan(0.95);
  });

  it('C11.14: a cover without a time is neither black nor blurred', async () => {
    // Black to 20 %, blurred to 30 %, then sharp.
    const fading = await sample(
      'fading.mp4',
      "-f lavfi -i testsrc2=s=320x180:r=25:d=20 -vf drawbox=t=fill:c=black:enable='lt(t,4)',gblur=sigma=20:enable='between(t,4,6)' -c:v libx264 -preset ultrafast -pix_fmt yuv420p",
    );
    const rig = await runnerRig('video:cover', fading);
    await run(rig, ['all']);
    const manifest = await rig.manifest();
    expect(manifest?.results.timestamp_sec).toBe(7);
    expect(await similarity(rig.at(manifest?.results.key ?? ''), fading, frameNumber(175))).toBeGreaterThan(0.95);
  });
});

describe('video:preview', () => {
  it.each([
    ['webp', { duration: 2, fps: 12, width: 200, start_sec: 1 }, 24, 200, 112],
    ['gif', { duration: 1, fps: 10, width: 161, start_sec: 60, format: 'gif' }, 10, 160, 90],
  ])(
    'C15.7, C15.8: a preview is an animated %s with the requested frames, from earlier where it would begin past the end',
    async (format, options, frames, width, height) => {
      const rig = await runnerRig('video:preview', source, options);
      const { results } = await runToResult(rig);
      expect(results).toMatchObject({ format, frames, width, height });
      const written = await sharp(rig.at(results.key), { pages: -1 }).metadata();
      expect([written.format, written.pages, written.width, written.pageHeight, written.loop]).toEqual([
        format,
        frames,
        width,
        height,
        0,
      ]);
      const durationMs = (written.delay ?? []).reduce((sum, delay) => sum + delay, 0);
      expect(Math.abs(durationMs - options.duration * 1000)).toBeLessThan(50);
      const isMoved = options.start_sec > seconds;
      expect(results.warnings?.map(({ code }) => code)).toEqual(isMoved ? ['preview_start_moved'] : []);
      // The first frame is at the requested start, or as near to the end as the length allows.
      const first = join(rig.dir, 'first.png');
      await sharp(rig.at(results.key)).toFile(first);
      const startSec = isMoved ? seconds - options.duration : options.start_sec;
      const filters = `${frameNumber(Math.round((startSec * 30_000) / 1001))},scale=${width}:${height}`;
      expect(await similarity(first, source, filters)).toBeGreaterThan(0.85);
    },
  );
});
