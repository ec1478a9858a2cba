import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, interleave, median, shown } from '../harness.ts';
import { photo } from '../support/photo.ts';
import { commandsCpuMs, withTreeCpu } from '../support/processor-time.ts';
import { type Service, startService } from '../support/service.ts';

// Image jobs through the whole service, from the submission to the job's end, against sharp in a warm process, and
// several sizes of a large photo against as many runs of vipsthumbnail.

const run = promisify(execFile);
const inSequence = 20;
const atOnce = 200;
const largeWidths = [1600, 800, 400, 200];
const rawSchema = z.object({ timeMs: z.number().positive(), cpuMs: z.number().positive() });
type Figures = z.infer<typeof rawSchema>;

export const imagesSuite: BenchSuite = {
  name: 'images',
  missing() {
    const absent = ['redis-server', 'vipsthumbnail'].filter((name) => findProgram(name) === null);
    return Promise.resolve(absent.length === 0 ? null : `there is no ${absent.join(' and no ')}`);
  },
  async run({ rounds }) {
    const stops: (() => Promise<void>)[] = [];
    try {
      const service = await startService(stops);
      await service.addSource('photo.jpg', await photo(2600, 1950));
      await writeFile(join(service.sourceDir, 'large.jpg'), await photo(6000, 4032));
      // The runners start, and code that was never run is compiled.
      await burst(service);
      return [
        ...(await measureSequence(service, rounds)),
        await measureBurst(service, rounds),
        await measureLarge(service, rounds),
      ];
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

let hashes = 0;

function thumbnail(source = 'photo.jpg', options: object = {}): object {
  return { type: 'image:thumbnail', hash: `bench-${(hashes += 1)}`, source, options };
}

async function rawSharp(service: Service, count: number, cores: 'one' | 'all'): Promise<Figures> {
  const script = join(import.meta.dirname, '../load/raw-images.ts');
  const { stdout } = await run(process.execPath, [script, service.sourceDir, String(count), cores]);
  return rawSchema.parse(JSON.parse(stdout));
}

async function measureSequence(service: Service, rounds: number): Promise<BenchLine[]> {
  const cpu: Record<'ours' | 'sharp', number[]> = { ours: [], sharp: [] };
  const contenders = {
    ours: async () => {
      const { result, cpuMs } = await withTreeCpu(service.program, async () => {
        const times: number[] = [];
        for (let n = 0; n < inSequence; n += 1) {
          const { sentAtMs, endedAtMs } = await service.complete(thumbnail());
          times.push(endedAtMs - sentAtMs);
        }
        return times;
      });
      cpu.ours.push(cpuMs / inSequence);
      return median(result);
    },
    sharp: async () => {
      const figures = await rawSharp(service, inSequence, 'one');
      cpu.sharp.push(figures.cpuMs);
      return figures.timeMs;
    },
  };
  const times = await interleave({ rounds, contenders });
  return [
    line('added-time', 'an image job after another: time beside sharp in a warm process', times),
    line('added-cpu', 'the same: processor time', cpu),
  ];
}

function line(id: string, what: string, { ours, sharp }: Record<'ours' | 'sharp', number[]>): BenchLine {
  const value = median(ours) - median(sharp);
  return { id: `images.${id}`, what, value, unit: 'ms', ours: shown(ours, 'ms'), peer: shown(sharp, 'ms') };
}

/** Jobs a second, of many that are submitted at once. */
async function burst(service: Service): Promise<number> {
  const { sentAtMs, endedAtMs } = await service.completeAll(Array.from({ length: atOnce }, () => thumbnail()));
  return (atOnce * 1000) / (endedAtMs - sentAtMs);
}

async function measureBurst(service: Service, rounds: number): Promise<BenchLine> {
  const sharp = async () => 1000 / (await rawSharp(service, atOnce, 'all')).timeMs;
  const figures = await interleave({ rounds, contenders: { ours: () => burst(service), sharp } });
  return ratio('burst', `${atOnce} image jobs at once: jobs a second, to sharp on all cores`, '/s', figures);
}

async function measureLarge(service: Service, rounds: number): Promise<BenchLine> {
  const outputs = largeWidths.map((width) => ({ variant: `w${width}`, width, format: 'webp' }));
  const program = findProgram('vipsthumbnail') ?? '';
  const vips = largeWidths.map((width) => ({
    program,
    args: ['large.jpg', '-s', `${width}x`, '-o', `out-${width}.webp[Q=80]`],
  }));
  const contenders = {
    ours: async () =>
      (await withTreeCpu(service.program, () => service.complete(thumbnail('large.jpg', { outputs })))).cpuMs,
    sharp: () => commandsCpuMs(vips, service.sourceDir),
  };
  await contenders.ours();
  const figures = await interleave({ rounds: 2 * rounds, contenders });
  return ratio('large', 'four sizes of a photo of 24 megapixels: processor time, to four vipsthumbnail', 'ms', figures);
}

function ratio(id: string, what: string, unit: string, { ours, sharp }: Record<'ours' | 'sharp', number[]>): BenchLine {
  const value = median(ours) / median(sharp);
  return { id: `images.${id}`, what, value, unit: 'ratio', ours: shown(ours, unit), peer: shown(sharp, unit) };
}
