import { describe, expect, it } from 'vitest';
import { chunkedRunOf, modelOf, podsSchema, type Work } from './chunked-run.ts';

const at = (sec: number) => new Date(sec * 1000).toISOString().replace('.000', '');
const ran = (name: string, from: number, to: number) => ({
  name,
  state: { terminated: { startedAt: at(from), finishedAt: at(to) } },
});

/** A pod whose steps follow each other from two seconds after its creation on. */
function podOf(name: string, part: string, [created, ...ends]: readonly [number, ...number[]]) {
  const steps = ends.map((end, index) =>
    ran(['fetch', 'process', 'publish'].at(index - ends.length) ?? '', ends[index - 1] ?? created + 2, end),
  );
  return {
    metadata: { name, creationTimestamp: at(created), labels: { 'reelwright.dev/unit': part } },
    status: { initContainerStatuses: steps.slice(0, -1), containerStatuses: steps.slice(-1) },
  };
}

const line = (sec: number, more: object) => JSON.stringify({ time: at(sec), ...more });
const ended = (mode: string, cpuMs: number) => line(0, { msg: 'runner ended', mode, cpu_ms: cpuMs });
const tool = (sec: number, command: string) => line(sec, { msg: 'tool started', command });

const splitLog = [
  'a line that is not JSON',
  tool(12, 'ffprobe source'),
  tool(14, 'ffmpeg -f nut made/sources/0.nut'),
  tool(16, 'ffmpeg -f nut made/sources/1.nut'),
  tool(18, 'ffmpeg made/audio/und.mp4'),
  tool(22, 'ffmpeg -af ebur128'),
  tool(26, 'ffmpeg -version'),
  ended('fetch', 500),
  ended('process', 3_200),
  ended('publish', 1_000),
].join('\n');
const chunkLog = [ended('fetch', 400), ended('process', 4_000), ended('publish', 600)].join('\n');

const { items: pods } = podsSchema.parse({
  items: [
    podOf('s', 'split', [0, 10, 26, 30]),
    podOf('a', 'chunk', [31, 35, 55, 60]),
    podOf('b', 'chunk', [31, 36, 56, 61]),
    podOf('c', 'chunk', [61, 65, 85, 90]),
    podOf('f', 'finish', [91, 95]),
  ],
});
const logs = new Map<string, string>([
  ['s', splitLog],
  ...['a', 'b', 'c'].map((name) => [name, chunkLog] as const),
  ['f', ended('publish', 700)],
]);

describe('the costs of a video on a cluster', () => {
  const run = chunkedRunOf({ wallSec: 97, pods, logs });

  it('the costs of a video on a cluster are the sum of its units, from the times of the pods and the processor time in their logs', () => {
    expect(run.whole.sec).toBe(97);
    expect(run.whole.cpuSec).toBeCloseTo(4.7 + 3 * 5 + 0.7);
    expect(run).toMatchObject({
      split: { sec: 30, cpuSec: 4.7 },
      encode: { sec: 59 },
      finish: { sec: 4, cpuSec: 0.7 },
    });
    expect(run).toMatchObject({ chunks: 3, chunk: { sec: 29, cpuSec: 5 }, chunkProcess: { sec: 20, cpuSec: 4 } });
    expect(run).toMatchObject({ cuts: { sec: 4, cpuSec: 0.8 }, audio: { sec: 8, cpuSec: 1.6 } });
  });

  it('the costs of a video on a cluster are not known without the end of every step', () => {
    expect(() => chunkedRunOf({ wallSec: 97, pods, logs: new Map([...logs, ['b', '']]) })).toThrow(
      'b: no processor time',
    );
  });

  it('grow in a longer video with the number of chunks, their length and the audio', () => {
    const size = { chunks: 30, lengthRatio: 20, chunkRatio: 2 };
    const work = (podsMany: number): Work => modelOf(run, size, podsMany);
    // Split: 18 s, ten times the cuts, twenty times the audio. A chunk: 9 s and twice its process.
    expect(work(8)).toEqual({
      sec: 18 + 40 + 160 + 4 * (9 + 40) + 4,
      cpuSec: expect.closeTo(2.3 + 8 + 32 + 30 * 9 + 0.7),
    });
    expect(work(1).sec - work(30).sec).toBe(29 * 49);
  });
});
