import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sample } from '../../testing/media.ts';
import { bucketOf } from '../../test/e2e/support/host-servers.ts';
import { apply, kubectl, kubectlJson } from '../../test/e2e/support/kubectl.ts';
import { type MediaJobObject, mediaJobManifest } from '../../test/e2e/support/objects.ts';
import { openRelease } from '../../test/e2e/support/open-release.ts';
import { release } from '../../test/e2e/support/release.ts';
import { type ChunkedRun, chunkedRunOf, podsSchema } from '../support/chunked-run.ts';

// Installs the chart with a pool of small pods, makes the same video by one pod at a time and by all of them, and
// prints what each cost as the last line of its output. Run by scripts/e2e (bench/suites/chunks.ts).

const { values: options } = parseArgs({
  options: {
    pods: { type: 'string', default: '8' },
    cpu: { type: 'string', default: '200m' },
    seconds: { type: 'string', default: '120' },
    preset: { type: 'string', default: 'fast' },
  },
});

const partSec = 10;
/** For one video. By one pod it takes about 25 minutes, on a busy machine more. */
const minutesMax = 60;

/** A flight into a fractal: detail and movement everywhere. The part is encoded once and repeated. */
async function makeSource(): Promise<string> {
  const zoom = `start_scale=1.6:end_scale=0.1:end_pts=${25 * partSec}:maxiter=200`;
  const bt709 = '-pix_fmt yuv420p -colorspace bt709 -color_primaries bt709 -color_trc bt709';
  // Without frames that are stored before they are shown, every repetition begins exactly where the last one ends.
  const rate = '-preset veryfast -bf 0 -g 50 -sc_threshold 0 -b:v 3M -maxrate 4M -bufsize 8M';
  const video = `mandelbrot=s=960x540:r=25:${zoom},scale=1280:720`;
  const part = await sample('bench-long-part.mp4', `-f lavfi -i ${video} -t ${partSec} -c:v libx264 ${rate} ${bt709}`);
  const tones = [220, 330].map(
    (frequency) =>
      `-f lavfi -i sine=frequency=${frequency}:beep_factor=4:sample_rate=48000:duration=${options.seconds}`,
  );
  const repeated = `-stream_loop ${Number(options.seconds) / partSec - 1} -i ${part}`;
  return sample(
    'bench-long.mp4',
    `${repeated} ${tones.join(' ')} -map 0 -map 1 -map 2 -c:v copy -c:a aac -b:a 128k -ac 2`,
  );
}

/** Makes the video once. Another hash is another video, which shares no chunk with the first. */
async function makeChunked(name: string, more: object): Promise<ChunkedRun> {
  const beganMs = performance.now();
  const spec = { type: 'video:transcode', hash: name, source: 'long.mp4', pool: 'default', options: { encrypt: true } };
  await apply(mediaJobManifest(name, { ...spec, ...more }));
  await complete(name);
  const wallSec = (performance.now() - beganMs) / 1000;
  const inRunners = ['-n', release.runners];
  const { status } = await kubectlJson<MediaJobObject>(...inRunners, 'get', 'mj', name);
  const selector = `reelwright.dev/job-id=${status?.jobId ?? ''}`;
  const listed = await endedPods([...inRunners, 'get', 'pods', '-l', selector]);
  const logs = new Map<string, string>();
  for (const { metadata } of listed.items) {
    const args = ['logs', metadata.name, '--all-containers', '--tail=-1'];
    logs.set(metadata.name, await kubectl(...inRunners, ...args));
  }
  await keepLogs(name, logs);
  return chunkedRunOf({ wallSec, pods: listed.items, logs });
}

/** For a person who wants to know what a step spent its time on. */
async function keepLogs(name: string, logs: ReadonlyMap<string, string>): Promise<void> {
  const folder = join(import.meta.dirname, '../../test-results');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `chunks-${name}.log`), [...logs].map((log) => log.join('\n')).join('\n'));
}

/**
 * Waits for the end of a MediaJob by a watch, which costs the cluster next to nothing.
 *
 * @throws Error when it fails, or has not ended within `minutesMax`
 */
async function complete(name: string): Promise<void> {
  const inRunners = ['-n', release.runners];
  const wait = ['wait', '--for=condition=Complete', `mediajobs/${name}`, '--timeout=60s'];
  for (let minute = 1; ; minute += 1) {
    try {
      await kubectl(...inRunners, ...wait);
      return;
    } catch (error) {
      const { status } = await kubectlJson<MediaJobObject>(...inRunners, 'get', 'mj', name);
      if (status?.phase === 'failed' || status?.phase === 'cancelled' || minute >= minutesMax)
        throw new Error(`${name}: ${JSON.stringify(status)}`, { cause: error });
      process.stderr.write(`${name}: ${status?.phase ?? ''} ${status?.chunks ?? ''}\n`);
    }
  }
}

/** The pods of a job, once the API server has the end of each. */
async function endedPods(args: readonly string[]) {
  for (let attempt = 1; ; attempt += 1) {
    const read = podsSchema.safeParse(await kubectlJson(...args));
    if (read.success) return read.data;
    if (attempt === 30) throw read.error;
    await sleep(1_000);
  }
}

const pods = Number(options.pods);
const { opened, remove } = await openRelease((values) => {
  const resources = { requests: { cpu: '20m', memory: '64Mi' }, limits: { cpu: options.cpu, memory: '1Gi' } };
  return {
    ...values,
    api: { ...values.api, replicas: 1 },
    delivery: { ...values.delivery, replicas: 1 },
    controller: { ...values.controller, replicas: 1 },
    // The steps of the tools are in the log of this level alone.
    config: { ...values.config, CHUNK_LENGTH: '6s', X264_PRESET: options.preset, LOG_LEVEL: 'debug' },
    pools: { default: { concurrency: pods, resources } },
  };
});
try {
  const source = bucketOf(opened.servers, 'source');
  await source.put('long.mp4', await readFile(await makeSource()), { contentType: 'video/mp4' });
  await source.close();
  // The first warms the nodes for the second, and is so long that it makes no difference to itself.
  const one = await makeChunked('one', { chunks: 1 });
  const many = await makeChunked('many', {});
  process.stdout.write(`${JSON.stringify({ one, many })}\n`);
} finally {
  await remove();
}
