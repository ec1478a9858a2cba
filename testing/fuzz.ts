import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Arbitrary, assert, asyncProperty } from 'fast-check';
import { it } from 'vitest';

// Properties of parsers. In `make check` each has a few cases of a fixed seed, so that a red check stays red; in
// `make fuzz` each has its share of the time, with a seed that is printed.

const minutes = Number(process.env['FUZZ_MINUTES'] ?? 0);
const seed = Number(process.env['FUZZ_SEED'] ?? (minutes > 0 ? Date.now() % 2 ** 31 : 1));
const casesOfCheck = 60;

const folder = join(import.meta.dirname, '../test/fuzz');

/** `make fuzz` runs one file after another, and a file one property after another. */
function shareMs(): number {
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return (
    (minutes * 60_000) /
    texts
      .join('\n')
      .matchAll(/^\s*fuzz\(/gm)
      .toArray().length
  );
}

interface Cases<T> {
  readonly of: Arbitrary<T>;
  /** Counterexamples that were found, and the worst known input. */
  readonly examples?: readonly T[];
}

/** A test that `check` returns for every case; it throws where the property does not hold. */
export function fuzz<T>(title: string, { of, examples = [] }: Cases<T>, check: (value: T) => void | Promise<void>) {
  const timeMs = minutes > 0 ? shareMs() : 0;
  it(title, { timeout: timeMs + 60_000 }, async () => {
    let cases = 0;
    const rule = asyncProperty(of, async (value) => {
      cases += 1;
      await check(value);
    });
    const isLong = timeMs > 0;
    const bounds = isLong
      ? { numRuns: 2 ** 31 - 1, interruptAfterTimeLimit: timeMs, markInterruptAsFailure: false }
      : { numRuns: casesOfCheck, endOnFailure: true };
    await assert(rule, { seed, examples: examples.map((example): [T] => [example]), ...bounds });
    if (isLong) process.stdout.write(`${cases} cases, seed ${seed}: ${title}\n`);
  });
}
