import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import type { StepContext } from '../context/step-context.ts';
import { tryTool } from './try-tool.ts';

const context = {
  signal: new AbortController().signal,
  log: { debug: () => {} } as unknown as StepContext['log'],
  workspace: { root: tmpdir() } as StepContext['workspace'],
};
const node = (script: string) => ({ program: process.execPath, args: ['-e', script] });

it('a sample is what the tool printed', async () => {
  const outcome = await tryTool(node('console.log(7)'), {}, context);
  expect(outcome?.stdout).toBe('7\n');
});

it.each([
  ['cannot be decoded', 'console.log(7); process.exit(1)'],
  ['is not reached in time', 'console.log(7); setInterval(() => {}, 1000)'],
])('a sample that %s gives null, and what was printed before is read', async (_, script) => {
  const lines: string[] = [];
  const run = { timeoutMs: 1000, onStdoutLine: (line: string) => lines.push(line) };
  expect(await tryTool(node(script), run, context)).toBeNull();
  expect(lines).toEqual(['7']);
});

it('a tool that the kernel ends for want of memory is no sample that is missing', async () => {
  const killed = tryTool(node('process.kill(process.pid, "SIGKILL")'), {}, context);
  await expect(killed).rejects.toMatchObject({ code: 'resource_exhausted' });
});
