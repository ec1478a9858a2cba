import { expect, it } from 'vitest';
import { externalWrite, interceptWrites } from './external-write.ts';

const write = () => ({ kind: 'object', name: 'put a' }) as const;

it('a write is sent at once where nothing intercepts it', async () => {
  await expect(externalWrite(write, () => Promise.resolve('stored'))).resolves.toBe('stored');
});

it('an interceptor knows the write and decides whether it is sent', async () => {
  const seen: string[] = [];
  interceptWrites(async ({ kind, name }, send) => {
    seen.push(`${kind} ${name}`);
    await send();
    throw new Error('no answer');
  });
  await expect(externalWrite(write, () => Promise.resolve(seen.push('sent')))).rejects.toThrow('no answer');
  expect(seen).toEqual(['object put a', 'sent']);
});
