import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Checker } from './invariants.ts';
import { submitForever } from './chaos-jobs.ts';
import { randomOf } from './random.ts';
import { addSources } from './sources.ts';
import { openWorld, type World } from './world.ts';

// A steady load, and what each program holds meanwhile: memory, open files, and active handles of Node.

/** What a program holds at a moment. */
interface Sample {
  readonly atMs: number;
  /** Resident memory in bytes, after a collection of garbage. */
  readonly rss: number;
  readonly files: number;
  readonly handles: number;
}

/** A program may hold this much more after an hour, in per cent of what it held on average. */
const slopeMaxPercent = 5;
const everyMs = 15_000;
/** More than a collection takes. */
const collectionMs = 1_000;
/** Caches fill, and code is compiled. */
const warmUpShare = 1 / 3;

async function sampleOf(world: World, index: number): Promise<Sample | null> {
  const program = world.processes[index]?.current();
  if (program === undefined) return null;
  process.kill(program.pid, 'SIGUSR2');
  await sleep(collectionMs);
  const status = await readFile(`/proc/${program.pid}/status`, 'utf8').catch(() => '');
  const metrics = await fetch(`${program.url}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  const handles = /^nodejs_active_handles_total (\d+)/m.exec(metrics)?.[1] ?? '0';
  return {
    atMs: Date.now(),
    rss: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024,
    files: (await readdir(`/proc/${program.pid}/fd`).catch(() => [])).length,
    handles: Number(handles),
  };
}

/**
 * The growth in an hour, in per cent of the mean: the median of the slopes between all pairs of samples (Theil and
 * Sen), which a single collection of garbage does not move.
 */
export function growthPercent(samples: readonly { readonly atMs: number; readonly value: number }[]): number {
  const slopes = samples.flatMap((one, index) =>
    samples.slice(index + 1).map((other) => (other.value - one.value) / (other.atMs - one.atMs)),
  );
  const median = slopes.toSorted((one, other) => one - other)[Math.floor(slopes.length / 2)] ?? 0;
  const mean = samples.reduce((sum, { value }) => sum + value, 0) / samples.length;
  return mean === 0 ? 0 : (median * 3_600_000 * 100) / mean;
}

/** @returns a line for each program and quantity, and what is too much */
export async function runSoak(o: { minutes: number; seed: number; folder: string }) {
  const world = await openWorld();
  try {
    world.begin({ run: 0, fault: null, isCounted: false });
    await addSources(world, o.folder);
    const endAt = Date.now() + o.minutes * 60_000;
    const submitting = submitForever(world, { random: randomOf(o.seed), endAt });
    const samples = new Map<string, Sample[]>();
    const warmAt = Date.now() + o.minutes * 60_000 * warmUpShare;
    while (Date.now() < endAt) {
      await sleep(everyMs);
      for (const [index, { mode }] of world.processes.entries()) {
        const sample = Date.now() < warmAt ? null : await sampleOf(world, index);
        if (sample !== null) samples.set(mode, [...(samples.get(mode) ?? []), sample]);
      }
    }
    const ids = await submitting;
    await world.settle();
    const violations = await new Checker(world).check([...ids]);
    if (/uncaught error|unhandled/i.test(world.output())) violations.push('a rejection that was not handled');
    const lines: string[] = [];
    for (const [mode, taken] of samples)
      for (const name of ['rss', 'files', 'handles'] as const) {
        const growth = growthPercent(taken.map((sample) => ({ atMs: sample.atMs, value: sample[name] })));
        const [first, last] = [taken[0]?.[name], taken.at(-1)?.[name]];
        const line = `${mode} ${name}: ${growth.toFixed(1)} % an hour, from ${first} to ${last}, ${taken.length} samples`;
        lines.push(line);
        if (growth > slopeMaxPercent) violations.push(line);
      }
    return { jobs: ids.size, lines, violations };
  } finally {
    await world.stop();
    await world.close();
  }
}
