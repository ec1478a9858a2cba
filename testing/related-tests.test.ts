import { join } from 'node:path';
import { expect, it } from 'vitest';
import { durationOf } from './durations.ts';
import { deepTestsReaching, nearestTests } from './related-tests.ts';

const root = join(import.meta.dirname, '..');

it('the tests that reach a file by imports are found, the nearest first, and of those against real servers what fits', () => {
  const sources = [
    { path: 'domain/a.ts', text: '' },
    { path: 'domain/a.test.ts', text: "import { a } from './a.ts';" },
    { path: 'domain/b.ts', text: "import type { A } from './a.ts';" },
    { path: 'domain/b.test.ts', text: "import { b } from './b.ts';" },
    { path: 'domain/c.test.ts', text: "import { c } from 'zod';" },
    { path: 'test/contract/far.test.ts', text: "import { b } from '#domain/b.ts';" },
    { path: 'test/contract/near.test.ts', text: "import { a } from '#domain/a.ts';" },
    { path: 'test/k8s/x.test.ts', text: "import { a } from '#domain/a.ts';" },
    ...Array.from({ length: 50 }, (_, number) => ({
      path: `test/integration/${number}.test.ts`,
      text: "import { b } from '#domain/b.ts';",
    })),
  ];
  const { unit, real, left, onCluster } = nearestTests(root, ['./domain/a.ts'], sources);
  expect(unit).toEqual(['domain/a.test.ts', 'domain/b.test.ts']);
  expect(real[0]).toBe('test/contract/near.test.ts');
  expect([real.length, left.length, onCluster]).toEqual([30, 22, ['test/k8s/x.test.ts']]);
  expect(nearestTests(root, ['domain/c.test.ts'], sources).unit).toEqual(['domain/c.test.ts']);
  expect(nearestTests(root, ['test/integration/49.test.ts'], sources).real).toEqual(['test/integration/49.test.ts']);
});

it('what tests start or read by its path leads to them, and tests named as a file are the nearest', () => {
  const { unit, real, left } = nearestTests(root, ['runner/source/interlacing.ts']);
  expect(unit).toContain('runner/source/interlacing.test.ts');
  expect([...real, ...left].filter((path) => path.startsWith('test/integration/runner-')).length).toBeGreaterThan(10);
  expect(nearestTests(root, ['web/menus.js']).real[0]).toBe('test/integration/player-menus.test.ts');
  expect(nearestTests(root, ['delivery/routes/stream.ts']).real[0]).toMatch(/\/delivery/);
});

it('a change adds tests of the deep tier to a slice: those that changed, then the nearest, at most five minutes of them', () => {
  const test = 'test/faults/chaos.deep.test.ts';
  // By names alone, those of the corpora are nearer.
  const changed = ['testing/runner.ts', 'runner/corpus-odd.ts', 'runner/corpus-formats.ts', test];
  const files = deepTestsReaching(root, changed);
  expect(files[0]).toBe(test);
  expect(files.length).toBeGreaterThan(1);
  expect(files.filter((file) => !file.endsWith('.deep.test.ts'))).toEqual([]);
  expect(files.reduce((sum, file) => sum + durationOf(file), 0)).toBeLessThanOrEqual(300);
});
