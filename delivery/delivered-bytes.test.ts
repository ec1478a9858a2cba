import { expect, it } from 'vitest';
import { createLogger } from '#platform/telemetry/logger.ts';
import { DeliveredBytes } from './delivered-bytes.ts';

const segment = (hash: string) => ({ url: `/stream/${hash}/0123456789abcdef/video/r360_h264/seg_1.m4s?x=1` });
const [whole, part, missing] = [{ statusCode: 200 }, { statusCode: 206 }, { statusCode: 404 }];

/** The bytes that were written, and a store that fails as often as it is told. */
function delivered(mediaMax: number) {
  const written: [string, number][][] = [];
  let failures = 0;
  const store = {
    add: async (bytesOf: ReadonlyMap<string, number>) => {
      if (failures-- > 0) throw new Error('the database is away');
      written.push([...bytesOf]);
    },
  };
  const log = createLogger({ level: 'silent', name: 'test' });
  return { written, fail: (times: number) => (failures = times), bytes: new DeliveredBytes({ store, log, mediaMax }) };
}

it('C37.21: bytes are counted by media, of what was found, open or signed, and written once', async () => {
  const { bytes, written } = delivered(10);
  bytes.count(segment('a'), whole, 100);
  bytes.count(segment('a'), part, 20);
  bytes.count({ url: segment('b').url.replace('/stream/', '/s/ticket/') }, whole, 7);
  bytes.count(segment('c'), missing, 300);
  bytes.count({ url: '/healthz' }, whole, 300);
  await bytes.writes.write();
  await bytes.writes.write();
  expect(written).toEqual([
    [
      ['a', 120],
      ['b', 7],
    ],
  ]);
});

it('C37.21: bytes of more media than there is memory for are counted together', async () => {
  const { bytes, written } = delivered(2);
  for (const hash of ['a', 'b', 'c', 'd', 'a']) bytes.count(segment(hash), whole, 10);
  await bytes.writes.write();
  expect(written).toEqual([
    [
      ['a', 20],
      ['b', 10],
      ['', 20],
    ],
  ]);
});

it('C37.21: an outage of the database loses no bytes, and those of a stop are written', async () => {
  const { bytes, written, fail } = delivered(10);
  bytes.writes.start();
  fail(1);
  bytes.count(segment('a'), whole, 10);
  await bytes.writes.write();
  bytes.count(segment('a'), whole, 5);
  expect(written).toEqual([]);
  await bytes.writes.stop();
  expect(written).toEqual([[['a', 15]]]);
});
