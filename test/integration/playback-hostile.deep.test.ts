import { expect, it } from 'vitest';
import { collectGarbage } from '#platform/lifecycle/collect-garbage.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { PlaybackFigures } from '../../delivery/playback/playback-figures.ts';
import { naughtyTexts } from '../../testing/hostile-values.ts';

// A million values that no player sends, as anybody can, for media that exist.

const values = 1_000_000;
const mediaMax = 50;
const url = (media: number) => `/stream/media-${media}/0123456789abcdef/video/r360_h264/seg_1.m4s`;
const usual = 'bl=21300,br=3200,bs,cid="faec5fc2",mtp=25400,ot=v,sid="6e2fb550-c457",su,nor="a%2Cb",msd=500';
const bits = ['=', ',', '"', '\\', '(', ')', ';', ' ', '?', '*', '.', '-', '\t', '\0', 'é', '%', '9', 'ot', 'sid'];

/** A generator of numbers by its seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function hostileValue(random: (below: number) => number): string {
  const kind = random(10);
  if (kind === 0) return naughtyTexts[random(naughtyTexts.length)] ?? '';
  if (kind === 1) return `ot=x${random(1e9)},sid="${random(1e9)}",k${random(1e9)}=1`;
  if (kind === 2) return `bl=${random(1e9)},mtp=${random(1e9)},br=${random(9)},msd=${random(1e9)},ot=v,bs`;
  if (kind === 3) return (bits[random(bits.length)] ?? '').repeat(random(6_000));
  let text = usual;
  for (let change = random(4); change >= 0; change--) {
    const at = random(text.length + 1);
    text = text.slice(0, at) + (bits[random(bits.length)] ?? '') + text.slice(at + random(3));
  }
  return text;
}

const seriesOf = async (metrics: Metrics) =>
  (await metrics.registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('svc_playback_'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')));

const heapBytes = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

it('C34.2, C34.11: a million hostile values add no series and no memory', { timeout: 600_000 }, async () => {
  const metrics = new Metrics();
  const figures = new PlaybackFigures({ metrics, mediaMax });
  const random = randomOf(1);
  const response = { headersSent: true, statusCode: 200 };
  const send = (count: number) => {
    for (let n = 0; n < count; n++) {
      const value = hostileValue(random);
      if (n % 2 === 0) figures.note({ url: url(random(2 * mediaMax)), headers: { 'cmcd-request': value } }, response);
      else
        figures.note(
          { url: `${url(random(2 * mediaMax))}?CMCD=${encodeURIComponent(value.toWellFormed())}`, headers: {} },
          response,
        );
    }
  };
  send(values / 10);
  const [seriesBefore, heapBefore] = [await seriesOf(metrics), heapBytes()];
  send(values);
  expect(await seriesOf(metrics)).toEqual(seriesBefore);
  expect(heapBytes() - heapBefore).toBeLessThan(2 * 1024 ** 2);
  expect(seriesBefore.filter((name) => name.startsWith('svc_playback_requests_total')).length).toBeLessThanOrEqual(20);
  expect(figures.take().size).toBe(mediaMax);
});
