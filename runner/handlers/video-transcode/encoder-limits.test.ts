import { expect, it } from 'vitest';
import { encodeTimeoutMs } from './encoder-limits.ts';

it('an encoder has a minute for each second, and no more than the packets of a source say', () => {
  const minute = 60_000;
  expect(encodeTimeoutMs(10, 1_000_000)).toBe((15 + 10) * minute);
  expect(encodeTimeoutMs(1_000_000, 250)).toBe((15 + 10) * minute);
});
