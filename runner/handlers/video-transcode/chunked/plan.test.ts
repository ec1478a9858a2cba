import { assert, constantFrom, jsonValue, pre, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jobTypes } from '#domain/job-types/index.ts';
import { namedProfileSchema } from '#domain/media/profiles.ts';
import type { PublishContext } from '../../job-handler.ts';
import type { PlannedStream } from '../encode.ts';
import { chunkedRev, cutsOf, encodePlanSchema } from './plan.ts';

const plan = encodePlanSchema.parse({
  v: 1,
  video: [
    {
      id: 'r180_h264',
      codec: 'h264',
      range: 'sdr',
      width: 320,
      height: 180,
      bitrateMax: 400_000,
      quality: { measure: 'ssim', score: 0.97, crf: 24 },
    },
  ],
  audio: [
    {
      id: 'audio_de_aac_2ch',
      channels: 2,
      language: 'de',
      name: 'German',
      role: 'main',
      isDefault: true,
      loudness: { integrated_lufs: -23, range_lu: 4, true_peak_dbtp: -3 },
    },
  ],
  text: [{ id: 'text_de', language: 'de', name: 'German', isForced: false, isHearingImpaired: false }],
  frames: 450,
  grid: { rate: { num: 25, den: 1 }, gopFrames: 50, segmentFrames: 150 },
  hasStoryboard: false,
  chapters: [{ startSec: 0, endSec: 18, title: 'One' }],
  source: {
    container: 'mov',
    size: 1000,
    duration_sec: 18,
    video: {
      codec: 'h264',
      width: 320,
      height: 180,
      frame_rate: 25,
      rotation: 0,
      hdr: 'none',
      pixel_format: 'yuv420p',
      interlaced: false,
    },
    audio: [{ codec: 'aac', channels: 2, sample_rate: 48_000, language: 'de' }],
  },
  warnings: [],
  chunks: [{ firstFrame: 0, frames: 150, firstSegment: 1 }],
  startSec: 0,
  frame: {
    width: 320,
    height: 180,
    rotation: 0,
    toneMap: null,
    fieldOrder: 'progressive',
    matrix: 'bt709',
    widePrimaries: null,
    hasAlpha: false,
    isFullRange: false,
    pixelFormat: 'yuv420p',
    hasZscale: true,
    stored: { width: 320, height: 180, sampleAspect: 1 },
    isUpright: true,
  },
  encoding: { crf: 23, preset: 'medium' },
  tools: ['ffmpeg 9.0', 'packager 3.4'],
});

/** All that a revision is asked for. */
const asked = {
  plan,
  options: jobTypes['video:transcode'].options.parse({ encrypt: true }),
  context: {
    encryption: { contentKey: { kid: '00'.repeat(16), key: 'ff'.repeat(16) }, keyEndpoint: 'https://a.example/key' },
    task: {
      v: 1,
      job_id: '00000000-0000-4000-8000-000000000001',
      attempt: 1,
      type: 'video:transcode',
      hash: 'clip',
      source: { key: 'clip.mp4', etag: '"1"', size: 1000, bytes_max: 2000 },
      profile: namedProfileSchema.parse({
        name: 'own',
        quality: { ssim: 0.97 },
        watermark: undefined,
        audio: { loudness: -16, surround: true },
      }),
      prefix: 'ab',
      rev: '0'.repeat(16),
      part: null,
      trace: null,
    },
  },
};
type Asked = typeof asked;

/** The fields that name an attempt, or follow from the rest. The key's bytes have a name, the KID. */
const others = [
  ...['v', 'job_id', 'attempt', 'type', 'source/bytes_max', 'prefix', 'rev', 'unit', 'part', 'trace'].map(
    (name) => `/context/task/${name}`,
  ),
  '/context/encryption/contentKey/key',
];
const deciding = (pointer: string) => !others.includes(pointer);

const revOf = ({ plan: ofPlan, options, context }: Asked) =>
  chunkedRev(ofPlan, options, context as unknown as PublishContext);

/** The JSON Pointers of all values that hold no others. */
function leavesOf(value: unknown, pointer = ''): string[] {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : [pointer];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, `${pointer}/${name}`));
}

function changed(pointer: string, value: unknown): { readonly before: unknown; readonly after: Asked } {
  const after = structuredClone(asked);
  const names = pointer.slice(1).split('/');
  const last = names.pop() ?? '';
  const holder = names.reduce<Record<string, unknown>>((inner, name) => inner[name] as never, after as never);
  const before = holder[last];
  holder[last] = value;
  return { before, after };
}

const leaves = leavesOf(asked);

describe('the cuts of a source', () => {
  const stream = {
    source: {
      container: 'mov',
      startSec: 0,
      durationSec: 60,
      video: { codec: 'h264', startSec: 0, isMirrored: false, decoder: null },
    },
    grid: plan.grid,
    rungs: [{ codec: 'h264' }],
    packets: { isContinuous: true, keyTimesSec: Array.from({ length: 30 }, (_, index) => index * 2) },
    span: { frames: 1500 },
  };
  const cut = (change: object, ofSource: object = {}, ofVideo: object = {}) => {
    const source = { ...stream.source, ...ofSource, video: { ...stream.source.video, ...ofVideo } };
    return cutsOf({ ...stream, source, ...change } as unknown as PlannedStream, 18);
  };

  it('each chunk has its part of the source', () => {
    expect(cut({})).toEqual({
      chunks: [
        { firstFrame: 0, frames: 450, firstSegment: 1 },
        { firstFrame: 450, frames: 450, firstSegment: 4 },
        { firstFrame: 900, frames: 600, firstSegment: 7 },
      ],
      sources: [
        { fromSec: null, toSec: 20 },
        { fromSec: 14, toSec: 38 },
        { fromSec: 32, toSec: 62 },
      ],
    });
  });

  // The end of the 33 bits that a time of MPEG-2 TS has.
  const transportSecMax = 2 ** 33 / 90_000;

  it.each<[string, ReturnType<typeof cut>]>([
    ['of a container that is not read from the middle', cut({}, { container: 'avi' })],
    ['of a codec that NUT does not hold', cut({}, {}, { codec: 'theora' })],
    ['with a gap', cut({ packets: { ...stream.packets, isContinuous: false } })],
    ['for another codec as well', cut({ rungs: [{ codec: 'h264' }, { codec: 'hevc' }] })],
    ['that is mirrored', cut({}, {}, { isMirrored: true })],
    ['whose times scatter', cut({}, {}, { isScattered: true })],
    ['whose video begins late', cut({}, {}, { startSec: 2.1 })],
    ['whose times start over', cut({}, { container: 'mpegts', startSec: transportSecMax - 60 })],
    ['that is short', cut({ span: { frames: 1100 } })],
    ['with key frames far apart', cut({ packets: { isContinuous: true, keyTimesSec: [0] } })],
  ])('a source %s stays one piece', (_, cuts) => {
    expect(cuts).toBeNull();
  });

  it.each<[string, ReturnType<typeof cut>]>([
    ['whose video begins 2 s after its audio', cut({}, {}, { startSec: 2 })],
    ['of MPEG-2 TS that ends before its times do', cut({}, { container: 'mpegts', startSec: transportSecMax - 61 })],
    ['of another container with such times', cut({}, { startSec: transportSecMax })],
    ['of HEVC in Matroska', cut({}, { container: 'matroska' }, { codec: 'hevc' })],
  ])('a source %s is cut', (_, cuts) => {
    expect(cuts?.chunks).toHaveLength(3);
  });
});

describe('the revision of a chunked encode', () => {
  it('the revision of a chunked encode differs for every input that decides its output: plan, options, profile, source, key and tools', () => {
    const rev = revOf(asked);
    const inputs = leaves.filter((pointer) => deciding(pointer));
    for (const name of ['/plan/tools/1', '/options/encrypt', '/context/task/profile/crf', '/context/task/source/etag'])
      expect(inputs).toContain(name);
    expect(inputs).toContain('/context/encryption/contentKey/kid');
    expect(inputs).toContain('/context/encryption/keyEndpoint');
    for (const pointer of inputs) {
      const { before, after } = changed(pointer, 'another');
      expect([pointer, before === 'another', revOf(after) === rev]).toEqual([pointer, false, false]);
    }
    assert(
      property(constantFrom(...inputs), jsonValue(), (pointer, value) => {
        const { before, after } = changed(pointer, value);
        // Negative zero is written as 0.
        pre(JSON.stringify(before) !== JSON.stringify(value));
        return revOf(after) !== rev;
      }),
    );
  });

  it('C13.32: a rerun has a revision of its own, which all of its attempts share', () => {
    const rerun = structuredClone(asked) as Asked & { context: { task: { rerun_of?: string } } };
    rerun.context.task.rerun_of = '00000000-0000-4000-8000-000000000003';
    const other = structuredClone(rerun);
    other.context.task.job_id = '00000000-0000-4000-8000-000000000002';
    const next = structuredClone(rerun);
    next.context.task.attempt = 2;
    expect(new Set([asked, rerun, other].map((one) => revOf(one))).size).toBe(3);
    expect(revOf(next)).toBe(revOf(rerun));
  });

  it('the revision is the same for every attempt and every job that would make the same stream', () => {
    for (const pointer of leaves.filter((leaf) => !deciding(leaf)))
      expect([pointer, revOf(changed(pointer, 'another').after)]).toEqual([pointer, revOf(asked)]);
  });
});
