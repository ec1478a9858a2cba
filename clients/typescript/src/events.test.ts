import { expect, it } from 'vitest';
import { readEvents } from './events.ts';

const streamOf = (pieces: readonly string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });

it.each([
  ['one event', ['id: 1\nevent: job\ndata: {}\n\n'], [{ id: '1', event: 'job', data: '{}' }]],
  [
    'an event in pieces',
    ['id: 1\nda', 'ta: {}\n', '\n'],
    ['alive', 'alive', { id: '1', event: 'message', data: '{}' }],
  ],
  ['comments and a retry', ['retry: 2000\n\n', ': still here\n\n'], ['alive', 'alive']],
  ['data of two lines, and CRLF', ['data: a\r\ndata: b\r\n\r\n'], [{ id: '', event: 'message', data: 'a\nb' }]],
  ['an event that never ends', ['data: a\n'], ['alive']],
])('a stream of events is read: %s', async (_, pieces, expected) => {
  expect(await Array.fromAsync(readEvents(streamOf(pieces)))).toEqual(expected);
});

it('an event without an end is refused before it fills the memory', async () => {
  const large = 'x'.repeat(1024 * 1024);
  await expect(Array.fromAsync(readEvents(streamOf(Array.from({ length: 6 }, () => large))))).rejects.toThrow('large');
});
