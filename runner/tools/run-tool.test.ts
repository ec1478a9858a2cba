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
const says = (message: string, exitCode: number) => ({
  program: process.execPath,
  args: ['-e', `console.error(${JSON.stringify(message)}); process.exit(${exitCode})`],
});
const refused = (message: string) => says(message, 1);
const unwritten = says('Error closing file a.mp4: No space left on device', 0);
/** The output of ffmpeg about a source whose tags are `text`. */
const tagged = (text: string) =>
  `Input #0, mov, from 'source':\n  Metadata:\n    title           : ${text}\n                    : ${text}\n  Stream #0:0(${text}): Audio: aac`;
const outOfMemory = refused('source: Cannot allocate memory');

afterEach(() => vi.restoreAllMocks());

function codeOf(command: typeof outOfMemory, readsHeaders: boolean, availableBytes: number) {
  vi.spyOn(process, 'availableMemory').mockReturnValue(availableBytes);
  const run = { timeoutMs: 10_000, failure, readsHeaders };
  return runTool(command, run, context).then(
    () => undefined,
    (error) => error.code,
  );
}

it.each([
  ['a tool that decodes is refused memory', outOfMemory, false, 2 ** 33, 'resource_exhausted'],
  ['a tool that reads headers is refused memory though there is enough', outOfMemory, true, 2 ** 33, 'corrupt_input'],
  ['a tool that reads headers is refused memory and there is little', outOfMemory, true, 2 ** 24, 'resource_exhausted'],
  ['a tool has no descriptor', refused('source: Too many open files'), true, 2 ** 33, 'resource_exhausted'],
  ['a tool ends well and could not write all', unwritten, false, 2 ** 33, 'resource_exhausted'],
  [
    'a library is refused memory',
    refused("terminate called after throwing an instance of 'std::bad_alloc'"),
    false,
    2 ** 33,
    'resource_exhausted',
  ],
  [
    'a tool ends well and quotes tags of the source',
    says(tagged('No space left on device'), 0),
    false,
    2 ** 33,
    undefined,
  ],
  [
    'a tool fails and quotes tags of the source',
    refused(tagged('Cannot allocate memory')),
    false,
    2 ** 33,
    'corrupt_input',
  ],
  ['a tool fails by itself', refused('Invalid data found'), true, 2 ** 33, 'corrupt_input'],
])('%s', async (_, command, readsHeaders, availableBytes, code) => {
  expect(await codeOf(command, readsHeaders, availableBytes)).toBe(code);
});
