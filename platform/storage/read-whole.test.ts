import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readWhole } from './read-whole.ts';

const body = () => Readable.from([Buffer.from('abc'), Buffer.from('de')]);

it('reads all pieces of a body, and no more of one than it may have', async () => {
  expect((await readWhole(body())).toString()).toBe('abcde');
  expect((await readWhole(body(), 5)).toString()).toBe('abcde');
  const large = body();
  await expect(readWhole(large, 4)).rejects.toThrow('more than 4 bytes');
  expect(large.destroyed).toBe(true);
});
