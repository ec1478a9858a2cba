import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterEach, expect, it } from 'vitest';
import { findIsolation } from '#platform/commands/isolation.ts';
import { ImageProcessor } from '#platform/images/image-processor.ts';
import { sourceOf } from '../../testing/image-source.ts';

const run = promisify(execFile);

const closings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

function open(bounds: ConstructorParameters<typeof ImageProcessor>[0]): ImageProcessor {
  const images = new ImageProcessor(bounds);
  closings.push(() => images.close());
  return images;
}

const noise = (width: number, height: number) =>
  sharp({
    create: { width, height, channels: 3, background: '#888', noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  })
    .png()
    .toBuffer();
const small = { width: 16, height: 16, fit: 'cover', format: 'webp', quality: 50, operations: {} } as const;
/** Seconds of work: every pixel of a large noise in the slowest format. */
const slow = { width: 4096, height: 4096, fit: 'cover', format: 'avif', quality: 100, operations: {} } as const;

it('C20.14: an image that takes too long is refused by itself, and its neighbours are made', async () => {
  const images = open({ timeoutMs: 3_000 });
  const [large, little] = [await noise(4096, 4096), await noise(32, 32)];
  // The process starts before the clock of the test runs.
  await images.make(sourceOf(little), small);
  const slowOne = images.make(sourceOf(large), slow, { client: 'a' }).then(() => 'made', String);
  const ended = new AbortController();
  void slowOne.then(() => ended.abort());
  // One of these is always under way, also when the slow one is given up.
  const others = Array.from({ length: 6 }, async () => {
    while (!ended.signal.aborted)
      expect((await images.make(sourceOf(little), small, { client: 'b' })).length).toBeGreaterThan(0);
  });
  expect(await slowOne).toBe('ImagesBusy: the image took too long');
  await Promise.all(others);
  expect((await images.make(sourceOf(little), small)).length).toBeGreaterThan(0);
}, 30_000);

/** A source, what is made of it, and how long that takes here and now. */
async function timedImage() {
  const source = await noise(256, 256);
  const work = { ...slow, width: 256, height: 256 };
  const images = open({});
  await images.make(sourceOf(source), work);
  const beganAtMs = performance.now();
  await images.make(sourceOf(source), work);
  return { source, work, eachMs: performance.now() - beganAtMs };
}

it('C20.14: an image is timed from its beginning, however long it waits', async () => {
  const { source, work, eachMs } = await timedImage();
  const timeoutMs = 1_000 + 10 * eachMs;
  const images = open({ timeoutMs, waitMsMax: 600_000 });
  const beganAtMs = performance.now();
  const made = await Promise.all(Array.from({ length: 120 }, () => images.make(sourceOf(source), work)));
  expect(made).toHaveLength(120);
  expect(performance.now() - beganAtMs).toBeGreaterThan(timeoutMs);
}, 120_000);

it('C20.14: images that would wait for too long are refused at once, the one of another client is made', async () => {
  const { source, work, eachMs } = await timedImage();
  const images = open({ waitMsMax: 8 * eachMs });
  for (let n = 0; n < 3; n++) await images.make(sourceOf(source), work, { client: 'a' });
  const outcomes = Array.from({ length: 100 }, () =>
    images.make(sourceOf(source), work, { client: 'a' }).then(() => 'made', String),
  );
  expect((await images.make(sourceOf(source), small, { client: 'b' })).length).toBeGreaterThan(0);
  const busy = (await Promise.all(outcomes)).filter((outcome) => outcome !== 'made');
  expect(new Set(busy.map((text) => text.split(':')[0]))).toEqual(new Set(['ImagesBusy']));
  // At once: those that waited say so.
  expect(busy.filter((text) => text.endsWith('too many images are waiting')).length).toBeGreaterThan(50);
}, 60_000);

it('the sources of images are read in their turn, and one that cannot be read fails its image alone', async () => {
  const { source, work } = await timedImage();
  const images = open({ waitMsMax: 600_000 });
  let read = 0;
  let made = 0;
  let ahead = 0;
  const readSource = () => {
    read += 1;
    ahead = Math.max(ahead, read - made);
    return read === 5 ? Promise.reject(new Error('cut off')) : Promise.resolve([source]);
  };
  const one = async () => {
    try {
      return (await images.make(readSource, work)).length > 0;
    } catch (error) {
      return String(error);
    } finally {
      made += 1;
    }
  };
  const outcomes = await Promise.all(Array.from({ length: 40 }, one));
  expect(outcomes.map(String).toSorted()).toEqual(['Error: cut off', ...Array.from({ length: 39 }, () => 'true')]);
  // As many as are made at once, and as many again, since several may end before the test notices.
  expect(ahead).toBeLessThanOrEqual(2 * (availableParallelism() + 1));
}, 600_000);

/** The process id of the image process that this process has started. */
async function imageProcessId(): Promise<string> {
  const { stdout } = await run('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)]);
  const line = stdout.split('\n').find((each) => each.endsWith('image-process.ts'));
  const [id] = line?.trim().split(' ') ?? [];
  if (id === undefined) throw new Error(`no image process among: ${stdout}`);
  return id;
}

it('an image is not refused because the image process has no free descriptor', async () => {
  const images = open({});
  const tiff = await sharp({ create: { width: 16, height: 16, channels: 3, background: '#888' } })
    .tiff()
    .toBuffer();
  await images.make(sourceOf(await noise(16, 16)), small);
  const id = await imageProcessId();
  // Standard input and output and the pipe take up as many.
  await run('prlimit', ['--pid', id, '--nofile=4:']);
  await expect(images.make(sourceOf(tiff), small)).rejects.toMatchObject({ name: 'ImagesBusy' });
  await run('prlimit', ['--pid', id, '--nofile=1024:']);
  expect((await images.make(sourceOf(tiff), small)).length).toBeGreaterThan(0);
}, 30_000);

const isolation = await findIsolation({ env: { PATH: process.env['PATH'] ?? '' }, readOnly: null });

it.skipIf(!('isolation' in isolation))(
  'the image process sees no process of the server, has no privileges and bounded memory',
  async () => {
    const images = new ImageProcessor('isolation' in isolation ? isolation : {});
    const look = { create: { width: 8, height: 8, channels: 3, background: 'red' } } as const;
    const work = { width: 4, height: null, fit: 'inside', format: 'png', quality: 80, operations: {} } as const;
    const red = await sharp(look).png().toBuffer();
    expect((await images.make(sourceOf(red), work)).length).toBeGreaterThan(0);
    // unshare, and below it the process itself.
    const [unshare = 0] = childrenOf(process.pid).filter((pid) => commandOf(pid).includes('image-process.ts'));
    const [pid = 0] = childrenOf(unshare);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    expect(status).toMatch(/^NSpid:\s+\d+\s+1$/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(readFileSync(`/proc/${pid}/limits`, 'utf8')).toMatch(/^Max data size\s+\d+/m);
    expect(readFileSync(`/proc/${pid}/net/dev`, 'utf8')).not.toContain('eth');
    await images.close();
    // Ended, perhaps not yet collected by the first process of the machine.
    await expect.poll(() => !existsSync(`/proc/${pid}`) || commandOf(pid) === '').toBe(true);
  },
);

const commandOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8');

function childrenOf(parent: number): number[] {
  const tasks = readdirSync(`/proc/${parent}/task`);
  const texts = tasks.map((task) => readFileSync(`/proc/${parent}/task/${task}/children`, 'utf8'));
  return texts.join(' ').split(/\s+/).filter(Boolean).map(Number);
}
