import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { durationsSec } from '../testing/durations.ts';

it('every file of testing/durations.json exists under this name', () => {
  const root = join(import.meta.dirname, '..');
  expect([...durationsSec.keys()].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(durationsSec.size).toBeGreaterThan(20);
});
