import { randomBytes } from 'node:crypto';
import { link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { videoKey } from '#domain/media/object-keys.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { endPrograms, type Program, secrets } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, median } from '../harness.ts';
import { type PeerProcess, startPeer } from '../load/peer-process.ts';
import { load } from '../load/wrk.ts';
import { startDeliveryServer } from '../support/delivery-server.ts';
import { photo } from '../support/photo.ts';

// How late the event loop of delivery is while 200 clients read segments as fast as they can and 20 images are made:
// what every other request waits. Measured by a timer of 10 ms, which is part of the figure, beside an idle process.

const rev = '0123456789abcdef';
const segmentBytes = 2 * 1024 * 1024;
const segmentCount = 20;
const readers = 200;
const imagesPerRound = 20;
const rounds = 5;
/** Code is compiled, and the segments come into memory. */
const warmUpSeconds = 15;
const roundSeconds = 4;
const folderOfKeys = `images/ab/photos/${rev}`;
const [secret = ''] = thumbSecretsOf([], secrets.KEY_TOKEN_SECRET);

export const loopSuite: BenchSuite = {
  name: 'loop',
  missing: () => Promise.resolve(findProgram('wrk') === null ? 'there is no wrk' : null),
  async run() {
    const folder = await mkdtemp(join(tmpdir(), 'reelwright-bench-'));
    const idle = await startPeer('bare-loop.ts');
    try {
      const ours = await startDelivery(folder);
      await read(ours, warmUpSeconds);
      const figures: Delays[] = [];
      for (let round = 0; round < rounds; round++) figures.push(await measure({ ours, idle, folder, round }));
      return [line(figures)];
    } finally {
      await idle.stop();
      await endPrograms();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function startDelivery(folder: string): Promise<Program> {
  const track = join(folder, dirname(videoKey('video', rev, 'video/r1/seg_1.m4s')));
  await mkdir(track, { recursive: true });
  await mkdir(join(folder, folderOfKeys), { recursive: true });
  for (let n = 1; n <= segmentCount; n++) await writeFile(join(track, `seg_${n}.m4s`), randomBytes(segmentBytes));
  await writeFile(join(folder, 'photo.jpg'), await photo(2000, 1500));
  return startDeliveryServer(folder);
}

function read(ours: Program, seconds: number) {
  return load({
    ...ours,
    program: findProgram('wrk') ?? '',
    path: { prefix: `/stream/video/${rev}/video/r1/seg_`, count: segmentCount, suffix: '.m4s' },
    connections: readers,
    seconds,
    sizeBytesMin: segmentBytes,
  });
}

/** 99th percentiles of one round, in milliseconds. */
type Delays = Readonly<Record<'ours' | 'idle', number>>;

interface Round {
  readonly ours: Program;
  readonly idle: PeerProcess;
  readonly folder: string;
  readonly round: number;
}

async function measure({ ours, idle, folder, round }: Round): Promise<Delays> {
  const delays = async () => ({ ours: await delayOf(ours), idle: Number(await textOf(`${idle.url}/delay`)) });
  // Each look begins a new measurement.
  await delays();
  const images = Array.from({ length: imagesPerRound }, async (_, n) => {
    const key = `${folderOfKeys}/round-${round}-${n}.jpg`;
    await link(join(folder, 'photo.jpg'), join(folder, key));
    await textOf(`${ours.url}${signThumbPath(key, { w: 400, f: 'webp' }, secret)}`);
  });
  await Promise.all([read(ours, roundSeconds), ...images]);
  return delays();
}

async function delayOf({ url }: Program): Promise<number> {
  const [, value = ''] = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await textOf(`${url}/metrics`)) ?? [];
  return Number(value) * 1000;
}

async function textOf(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} was answered ${response.status}`);
  return response.text();
}

function line(figures: readonly Delays[]): BenchLine {
  const shown = (name: keyof Delays) => {
    const ms = figures.map((delays) => delays[name]);
    return `${median(ms).toFixed(1)} ms (${Math.min(...ms).toFixed(1)}–${Math.max(...ms).toFixed(1)})`;
  };
  return {
    id: 'loop.delay',
    what: `delay of the event loop, 99th percentile, ${readers} readers and ${imagesPerRound} images, and an idle process`,
    value: median(figures.map(({ ours }) => ours)),
    unit: 'ms',
    ours: shown('ours'),
    peer: shown('idle'),
  };
}
