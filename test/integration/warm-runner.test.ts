import { AsyncLocalStorage } from 'node:async_hooks';
import { tmpdir } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import type { ServedTask } from '#domain/work/warm-runner.ts';
import { WarmRunner } from '../../controller/process/warm-runner.ts';

/** A runner that ends each task at once. */
const script = `
const { createInterface } = require('node:readline');
const end = JSON.stringify({ type: 'end', exit_code: 0, rss_bytes: 1 }) + '\\n';
createInterface({ input: process.stdin }).on('line', () => { process.stdout.write(end); process.stderr.write(end); });
`;

const ignore = () => undefined;

test('a kept runner keeps nothing of its earlier tasks', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const command = { program: process.execPath, args: ['--eval', script] };
  const runner = new WarmRunner(command, { isolation: [], env: {}, cwd: tmpdir() });
  onTestFinished(() => runner.stop());
  const storage = new AsyncLocalStorage<object>();
  const run = async () => {
    const context = {};
    const signal = new AbortController().signal;
    const watch = { signal, timeoutMs: 10_000, onReportLine: ignore, onLogLine: ignore, onProcessorTime: ignore };
    const outcome = await storage.run(context, () => runner.run({} as ServedTask, watch));
    expect(outcome).toMatchObject({ exitCode: 0 });
    return new WeakRef(context);
  };
  const contexts = [await run(), await run(), await run()];
  await run();
  collect();
  expect(contexts.map((context) => context.deref())).toEqual([undefined, undefined, undefined]);
});
