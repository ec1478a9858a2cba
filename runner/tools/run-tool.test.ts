import { tmpdir } from 'node:os';
import { afterEach, expect, it, vi } from 'vitest';
import type { StepContext } from '../context/step-context.ts';
import { runTool } from './run-tool.ts';

const context = {
  signal: new AbortController().signal,
  log: { debug: () => {} } as unknown as StepContext['log'],
  workspace: { root: tmpdir() } as StepContext['workspace'],
};
const failure = { code: 'corrupt_input', message: 'The source is damaged.' } as const;
const refused = (message: string) => ({
  program: process.execPath,
  args: ['-e', `console.error('${message}'); process.exit(1)`],
});
const unwritten = {
  program: process.execPath,
  args: ['-e', "console.error('Error closing file a.mp4: No space left on device')"],
};
const outOfMemory = refused('source: Cannot allocate memory');

afterEach(() => vi.restoreAllMocks());

function codeOf(command: typeof outOfMemory, readsHeaders: boolean, availableBytes: number) {
  vi.spyOn(process, 'availableMemory').mockReturnValue(availableBytes);
  const run = { timeoutMs: 10_000, failure, readsHeaders };
  return runTool(command, run, context).then(
    () => null,
    (error) => error.code,
  );
}

it.each([
  ['a tool that decodes is refused memory', outOfMemory, false, 2 ** 33, 'resource_exhausted'],
  ['a tool that reads headers is refused memory though there is enough', outOfMemory, true, 2 ** 33, 'corrupt_input'],
  ['a tool that reads headers is refused memory and there is little', outOfMemory, true, 2 ** 24, 'resource_exhausted'],
  ['a tool that reads headers has no disk', refused('No space left on device'), true, 2 ** 33, 'resource_exhausted'],
  ['a tool ends well and could not write all', unwritten, false, 2 ** 33, 'resource_exhausted'],
  ['a tool fails by itself', refused('Invalid data found'), true, 2 ** 33, 'corrupt_input'],
])('%s', async (_, command, readsHeaders, availableBytes, code) => {
  expect(await codeOf(command, readsHeaders, availableBytes)).toBe(code);
});
