import { expect, it } from 'vitest';
import { hasOddScan, writeScanParameters } from './jpeg-scans.ts';

const segment = (marker: number, ...content: number[]) => [0xff, marker, 0, content.length + 2, ...content];
const scan = (...parameters: number[]) => segment(0xda, 1, 1, 0, ...parameters);
/** A JPEG with a frame of a kind, a table that looks like a scan, coded data, and scans. */
const jpeg = (frame: number, ...scans: number[][]) =>
  Buffer.from([
    0xff,
    0xd8,
    ...segment(0xe1, 0xff, 0xda, 0, 8, 1, 1, 0, 9, 9, 9),
    ...segment(frame, 8, 0, 1),
    ...scans.flatMap((each) => [...each, 1, 0xff, 0, 2, 0xff, 0xd0, 3, 0xff, 0xd7, 4]),
    0xff,
    0xd9,
    ...scan(9, 9, 9),
  ]);

it.each([
  ['baseline', 0xc0, [0, 0, 0], true],
  ['extended', 0xc1, [0, 63, 16], true],
  ['baseline as it must be', 0xc0, [0, 63, 0], false],
  ['progressive', 0xc2, [0, 0, 1], false],
  ['arithmetic', 0xc9, [0, 0, 0], false],
])('of a %s JPEG it is known whether its first scan has odd parameters', (_, frame, parameters, isOdd) => {
  expect(hasOddScan(jpeg(frame, scan(...parameters)))).toBe(isOdd);
});

it('the parameters of all scans are written, and nothing else', () => {
  const changed = jpeg(0xc0, scan(0, 0, 0), scan(0, 63, 0), scan(1, 1, 1));
  writeScanParameters(changed);
  expect(changed).toEqual(jpeg(0xc0, scan(0, 63, 0), scan(0, 63, 0), scan(0, 63, 0)));
});

it('any bytes are read to their end', () => {
  for (const bytes of [[], [0xff, 0xd8], [0xff, 0xd8, 0xff, 0xc0, 0, 0, 0xff, 0xda, 0xff, 0xff], Array(64).fill(0xff)])
    expect(hasOddScan(Buffer.from(bytes))).toBe(false);
});
