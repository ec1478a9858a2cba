import { describe, expect, it } from 'vitest';
import { PacketScanner } from './packet-scan.ts';

interface Packet {
  readonly stream?: number;
  readonly time: number | string;
  readonly decode?: number | string;
  readonly duration?: number;
  readonly flags?: string;
}

const lineOf = ({ stream = 0, time, decode = time, duration = 0.5, flags = '__' }: Packet) =>
  `stream_index=${stream}|pts_time=${time}|dts_time=${decode}|duration_time=${duration}|flags=${flags}`;

/** Video in stream 0, audio in stream 1. */
function scanOf(packets: readonly Packet[], more: object = {}) {
  const source = { container: 'mpegts', startSec: 0, video: { streamIndex: 0 }, audio: [{ streamIndex: 1 }], ...more };
  const scanner = new PacketScanner(source);
  for (const packet of packets) scanner.line(lineOf(packet));
  return scanner.end();
}

/** Frames of half a second. */
const frames = (fromSec: number, count: number, more: Partial<Packet> = {}): Packet[] =>
  Array.from({ length: count }, (_, index) => ({ time: fromSec + index / 2, ...more }));

describe('the packets of a source', () => {
  it('are counted from its start, and only video and audio are', () => {
    const others = [
      { stream: 2, time: 900 },
      { time: 'N/A', decode: 'N/A' },
    ];
    const scan = scanOf([...frames(10, 4), ...frames(10, 6, { stream: 1 }), ...others], { startSec: 10 });
    expect(scan).toMatchObject({ frames: 4, packets: 10, framesEndSec: 2, audioEndSec: 3, isContinuous: true });
  });

  it('before the first key frame, in the order of decoding or of display, cannot be decoded', () => {
    const key = { time: 2, flags: 'K_' };
    const after = frames(2.5, 4);
    expect(scanOf([...frames(0, 4), key, ...after]).framesBeforeKey).toBe(4);
    expect(scanOf([key, ...frames(1, 2), ...after]).framesBeforeKey).toBe(2);
    expect(scanOf([key, ...after]).framesBeforeKey).toBe(0);
    expect(scanOf([{ time: 0, flags: 'KD' }, ...frames(0.5, 4), key]).framesBeforeKey).toBe(0);
    expect(scanOf(frames(0, 4)).framesBeforeKey).toBe(0);
  });

  it('of each audio stream have a span', () => {
    const scan = scanOf([...frames(0, 8), ...frames(1, 2, { stream: 1 })]);
    expect([...scan.audioSpans]).toEqual([[1, { fromSec: 1, toSec: 2 }]]);
  });

  it('begin to be decoded at key frames, at most once a second', () => {
    const keys = [0, 0.5, 1, 1.9, 2.2].map((time) => ({ time, flags: 'K_' }));
    expect(scanOf([...keys, { time: 4, flags: '__' }, { stream: 1, time: 5, flags: 'K_' }]).keyTimesSec).toEqual([
      0, 1, 2.2,
    ]);
  });

  it('are not continuous where a frame is discarded, as by an edit list; audio may be', () => {
    expect(scanOf([...frames(0, 2), { time: 1, flags: '_D' }])).toMatchObject({ frames: 2, isContinuous: false });
    expect(scanOf([...frames(0, 2), { stream: 1, time: 1, flags: '_D' }])).toMatchObject({
      packets: 2,
      isContinuous: true,
    });
  });
});

describe('a jump of timestamps', () => {
  it.each([
    ['forth by an hour', 3600],
    ['back to zero', 0],
  ])('%s in a broadcast is closed, for each stream by itself', (_, toSec) => {
    const scan = scanOf(
      [...frames(100, 4), ...frames(100, 4, { stream: 1 }), ...frames(toSec, 4), ...frames(toSec, 4, { stream: 1 })],
      { startSec: 100 },
    );
    expect(scan).toMatchObject({ frames: 8, framesEndSec: 4, audioEndSec: 4, isContinuous: false });
  });

  it('of less than ten seconds is a gap, and frames that go back in their order of decoding are not one', () => {
    expect(scanOf([...frames(0, 2), ...frames(9, 2)])).toMatchObject({ framesEndSec: 10, isContinuous: true });
    const reordered = [0, 1.5, 0.5, 1].map((time, index) => ({ time, decode: index / 2 - 1 }));
    expect(scanOf(reordered)).toMatchObject({ framesEndSec: 2, isContinuous: true });
    // Without decoding times frames go back all the time.
    const untimed = [0, 1.5, 0.5, 1].map((time) => ({ time, decode: 'N/A' }));
    expect(scanOf(untimed)).toMatchObject({ framesEndSec: 2, isContinuous: true });
  });
});

describe('a source without packets', () => {
  const damaged = expect.objectContaining({ code: 'corrupt_input' }) as Error;

  it('of its video is damaged, and one of audio alone needs only that', () => {
    expect(() => scanOf(frames(0, 2, { stream: 1 }))).toThrow(damaged);
    expect(() => scanOf([], { video: null })).toThrow(damaged);
    expect(scanOf(frames(0, 2, { stream: 1 }), { video: null })).toMatchObject({ frames: 0, audioEndSec: 1 });
  });
});
