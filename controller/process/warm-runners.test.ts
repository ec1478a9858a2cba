import { expect, it, vi } from 'vitest';
import type { TaskOutcome, WarmRunner } from './warm-runner.ts';
import { WarmRunners, type WarmRunnersOptions } from './warm-runners.ts';

const mebibyte = 1024 * 1024;
const task = {} as Parameters<WarmRunners['run']>[0];
const watch = {} as Parameters<WarmRunners['run']>[1];
const done: TaskOutcome = { exitCode: 0, signal: null, timedOut: false, rssBytes: 100 * mebibyte };

/** Warm runners whose processes are a test's: they end when they are stopped, and a task ends as `outcome` says. */
function runnersOf(options: Partial<WarmRunnersOptions> = {}, outcome: () => Promise<TaskOutcome> = async () => done) {
  const started: { readonly stop: () => Promise<void>; readonly end: () => void; tasksDone: number }[] = [];
  const start = async () => {
    const over = Promise.withResolvers<undefined>();
    const runner = {
      tasksDone: 0,
      run: async () => {
        const ended = await outcome();
        runner.tasksDone += 1;
        return ended;
      },
      ended: () => over.promise,
      end: () => over.resolve(undefined),
      stop: vi.fn<() => Promise<void>>(async () => over.resolve(undefined)),
    };
    started.push(runner);
    return runner as unknown as WarmRunner;
  };
  const runners = new WarmRunners({ start, tasksMax: 3, ...options });
  const stops = () => started.map(({ stop }) => vi.mocked(stop).mock.calls.length);
  return { runners, started, stops, run: () => runners.run(task, watch) };
}

it('tasks one after another share a runner, until it has done its share', async () => {
  const { run, stops, runners } = runnersOf();
  for (let n = 0; n < 4; n += 1) expect(await run()).toBe(done);
  expect(stops()).toEqual([1, 0]);
  await runners.stop();
  expect(stops()).toEqual([1, 1]);
});

it('tasks at once have a runner each, and the next task has the one that was used last', async () => {
  const held = [Promise.withResolvers<TaskOutcome>(), Promise.withResolvers<TaskOutcome>()];
  let tasks = 0;
  const { run, started, runners } = runnersOf({}, () => held[tasks++]?.promise ?? Promise.resolve(done));
  const both = [run(), run()];
  for (const { resolve } of held) {
    await vi.waitFor(() => expect(started).toHaveLength(2));
    resolve(done);
  }
  await Promise.all(both);
  await run();
  expect(started.map(({ tasksDone }) => tasksDone)).toEqual([1, 2]);
  await runners.stop();
});

it.each<[string, Partial<TaskOutcome>]>([
  ['failed', { exitCode: 10 }],
  ['ended its runner', { exitCode: null, signal: 'SIGKILL', rssBytes: null }],
  ['left more than 512 MiB to its runner', { rssBytes: 512 * mebibyte + 1 }],
])('the runner of a task that %s is replaced', async (_, outcome) => {
  const { run, started, stops, runners } = runnersOf({}, async () => ({ ...done, ...outcome }));
  await run();
  expect(stops()).toEqual([1]);
  await run();
  expect(started).toHaveLength(2);
  await runners.stop();
});

it('a runner without a task ends after some time, and one that ended by itself gets none', async () => {
  const { run, started, stops, runners } = runnersOf({ idleMs: 20 });
  await run();
  await vi.waitFor(() => expect(stops()).toEqual([1]));
  const lasting = runnersOf({ idleMs: 600_000 });
  await lasting.run();
  lasting.started[0]?.end();
  await Promise.resolve();
  await lasting.run();
  expect([started.length, lasting.started.length]).toEqual([1, 2]);
  await Promise.all([runners.stop(), lasting.runners.stop()]);
});
