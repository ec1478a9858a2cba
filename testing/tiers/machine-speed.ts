import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';

// Budgets of processor time are for the machine of the table in CONTRIBUTING.md; another one may need half as much again
// for the same tests. So a fixed piece of work, of the language and of the kernel, is timed before and after a tier.

/** The processor time of the fixed work where the unit tests took 54 processor seconds. */
const referenceMs = 5.3;
const repetitions = 51;

const text = JSON.stringify(Array.from({ length: 200 }, (_, n) => ({ id: n, name: `job ${n}`, at: [n / 3, `${n}`] })));

function fixedWork(): void {
  for (let n = 0; n < 20; n += 1)
    createHash('sha256')
      .update(JSON.stringify(JSON.parse(text)))
      .digest();
  for (let n = 0; n < 500; n += 1) statSync(import.meta.dirname);
}

/** How many times the processor time of the reference machine the same work takes here; at least 1. */
export function slowness(): number {
  const times = Array.from({ length: repetitions }, () => {
    const before = process.cpuUsage();
    fixedWork();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  const medianMs = times.toSorted((one, other) => one - other)[(repetitions - 1) / 2] ?? 0;
  return Math.max(1, medianMs / referenceMs);
}
