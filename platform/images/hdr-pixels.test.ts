import { expect, it } from 'vitest';
import { mapToSrgb } from './hdr-pixels.ts';

const mapped = (hdr: 'pq' | 'hlg', pixel: readonly number[], channels: 3 | 4 = 3, primaries = 9) => {
  const data = Uint8Array.from(pixel);
  mapToSrgb(data, channels, { primaries, hdr });
  return [...data];
};

it.each([
  // Signals of BT.2408 in 8 bits: reference white is 58 % of PQ and 75 % of HLG, 10,000 and 1,000 cd/m² are 100 %.
  ['PQ', 'pq', 148, 217, 242],
  ['HLG', 'hlg', 191, 217, 242],
  ['PQ, 26 cd/m²', 'pq', 97, 98, 104],
  ['PQ, the peak', 'pq', 255, 255, 255],
  ['HLG, the peak', 'hlg', 255, 254, 255],
  ['black', 'pq', 0, 0, 0],
] as const)('grey of %s becomes SDR within the bounds of reference white', (_, hdr, signal, least, most) => {
  const [red = 0, green, blue] = mapped(hdr, [signal, signal, signal]);
  expect(red).toBeGreaterThanOrEqual(least);
  expect(red).toBeLessThanOrEqual(most);
  // Grey stays grey in other primaries.
  expect([green, blue].every((value) => Math.abs((value ?? 0) - red) <= 1)).toBe(true);
});

it('colours go to the primaries of sRGB, and transparency stays', () => {
  // 100 cd/m² of the red of sRGB, in BT.2020.
  const [red, green, blue, alpha] = mapped('pq', [118, 69, 45, 128], 4);
  expect(red).toBeGreaterThan(170);
  expect([green, blue].every((value) => (value ?? 255) < 30)).toBe(true);
  expect(alpha).toBe(128);
  expect(mapped('pq', [118, 69, 45], 3, 1)).not.toEqual([red, green, blue]);
});
