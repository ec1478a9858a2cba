import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';

/**
 * The first message of a thread, which ends with it, or by `signal`. Called before anything else is awaited, so that
 * no error of the thread is missed.
 *
 * @throws what ended the thread, AbortError
 */
export async function firstMessage(thread: Worker, signal: AbortSignal): Promise<unknown> {
  // Lasting: `once` takes its listeners off when `signal` aborts. A thread that ran out of memory just before still
  // emits its error, which without a listener is an uncaught one, and `terminate` then waits for ever.
  thread.on('error', () => undefined);
  try {
    const [message] = (await once(thread, 'message', { signal })) as [unknown];
    return message;
  } finally {
    await thread.terminate();
  }
}
