import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { firstMessage } from './first-message.ts';

const threadOf = (script: string) => new Worker(script, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8 } });
const unlimited = new AbortController().signal;

const post = "require('node:worker_threads').parentPort.postMessage('a'); setInterval(() => {}, 1000)";
const fail = "throw new Error('b')";
const useUpMemory = 'const all = []; for (;;) all.push(new Array(1000).fill(all.length))';

const threadIds = () => readdirSync('/proc/self/task');

it('the first message of a thread is returned, and the thread ends with it', async () => {
  const thread = threadOf(post);
  expect(await firstMessage(thread, unlimited)).toBe('a');
  expect(thread.threadId).toBe(-1);
});

it('the error that ends a thread is thrown', async () => {
  await expect(firstMessage(threadOf(fail), unlimited)).rejects.toThrow('b');
});

it('a thread that never answers ends by the signal', async () => {
  const thread = threadOf('for (;;);');
  await expect(firstMessage(thread, AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'AbortError' });
  expect(thread.threadId).toBe(-1);
});

it('a thread that ran out of memory just before the signal ends too, and its error is taken', async () => {
  const before = new Set(threadIds());
  const limit = new AbortController();
  const thread = threadOf(useUpMemory);
  const read = firstMessage(thread, limit.signal);
  // Keeps the event loop until the thread has ended by itself: it has an error then that was not emitted yet.
  const added = threadIds().filter((id) => !before.has(id));
  const deadlineMs = performance.now() + 5_000;
  while (performance.now() < deadlineMs && threadIds().some((id) => added.includes(id)));
  limit.abort();
  await expect(read).rejects.toMatchObject({ name: 'AbortError' });
  expect(thread.threadId).toBe(-1);
}, 10_000);
