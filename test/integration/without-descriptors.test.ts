import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

// A process that has used up its descriptors fails what needs one, by an error that says so, and goes on. Each case has
// a process of its own: an error without a listener would end it, and it must not hold up other tests.

const run = promisify(execFile);
const program = join(import.meta.dirname, 'without-descriptors-process.ts');

/** The outcomes with up to `leftMax` free descriptors, and afterwards with more. */
async function outcomesOf(name: string, leftMax: number): Promise<unknown> {
  const script = 'ulimit -n 64; exec "$@"';
  const { stdout } = await run('bash', ['-c', script, 'bash', process.execPath, program, name, String(leftMax)]);
  return JSON.parse(stdout);
}

const exhausted = 'resource_exhausted: The work ran out of memory, disk space or open files.';

it.each([
  ['the image process cannot start', 'image', 0, 'ImagesBusy: no descriptor is free for the image process'],
  ['the decoders in WebAssembly cannot be read', 'decoder', 0, exhausted],
  ['the thread of a decoder cannot start or cannot read its modules', 'thread', 8, exhausted],
  ['a folder takes no object', 'folder', 0, 'storage_error: Object storage failed.'],
  ['a command cannot start', 'command', 0, exhausted],
])('while descriptors are short, %s, and later it works', async (_, name, leftMax, failure) => {
  expect(await outcomesOf(name, leftMax)).toEqual({ failures: [failure], after: 'ok' });
});
