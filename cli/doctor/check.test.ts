import { afterEach, expect, it, vi } from 'vitest';
import { type Check, fault, type Ground, runChecks, warning } from './check.ts';

afterEach(() => {
  vi.useRealTimers();
});

const ground = { signal: new AbortController().signal } as Ground;
const check = (name: string, more: Partial<Check> = {}): Check => ({
  name,
  needs: [],
  run: () => Promise.resolve([]),
  ...more,
});

it('a check says nothing unless what it needs has passed: after a fault, and after one that was skipped', async () => {
  const run = vi.fn<Check['run']>(() => Promise.resolve([]));
  const results = await runChecks(
    [
      check('whole'),
      check('odd', { run: () => Promise.resolve([warning('w', 'r')]) }),
      check('broken', { run: () => Promise.resolve([warning('w', 'r'), fault('f', 'r')]) }),
      check('absent', { unless: () => 'there is none' }),
      check('after whole and odd', { needs: ['whole', 'odd'] }),
      check('after broken', { needs: ['whole', 'broken'], run }),
      check('after absent', { needs: ['absent'], run }),
      check('after after', { needs: ['after absent'], run }),
    ],
    ground,
  );
  expect(results.map(({ name, status, reason = '' }) => [name, status, reason])).toEqual([
    ['whole', 'ok', ''],
    ['odd', 'warning', ''],
    ['broken', 'fault', ''],
    ['absent', 'skipped', 'there is none'],
    ['after whole and odd', 'ok', ''],
    ['after broken', 'skipped', 'needs broken'],
    ['after absent', 'skipped', 'needs absent'],
    ['after after', 'skipped', 'needs after absent'],
  ]);
  expect(run).not.toHaveBeenCalled();
});

it('a check that fails, and one that does not end within a minute, is a fault, and the others follow', async () => {
  vi.useFakeTimers();
  const checks = [
    check('failing', { run: () => Promise.reject(new Error('no such table')) }),
    check('hanging', { run: () => new Promise(() => undefined) }),
    check('last'),
  ];
  const running = runChecks(checks, ground);
  await vi.advanceTimersByTimeAsync(60_000);
  const results = await running;
  expect(results.map(({ status }) => status)).toEqual(['fault', 'fault', 'ok']);
  expect(results[0]?.findings[0]?.fault).toContain('no such table');
  expect(results[1]?.findings[0]?.fault).toContain('60 s');
});
