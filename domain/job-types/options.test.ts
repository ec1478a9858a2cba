import { describe, expect, it } from 'vitest';
import { type JobType, jobTypeNames, jobTypeRow, jobTypes } from './index.ts';

const outputs = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ variant: `v${n}`, width: 10, format: 'webp' }));

const accepted: [JobType, unknown, unknown][] = [
  ['image:thumbnail', {}, { outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] }],
  ['video:cover', {}, {}],
  ['video:preview', {}, { start_sec: 0, duration: 3, width: 480, fps: 10, format: 'webp' }],
  ['video:preview', { duration: 10, fps: 30 }, { start_sec: 0, duration: 10, width: 480, fps: 30, format: 'webp' }],
  [
    'video:preview',
    { start_sec: 9, width: 64, fps: 1, duration: 15, format: 'gif' },
    { start_sec: 9, width: 64, fps: 1, duration: 15, format: 'gif' },
  ],
  ['video:transcode', {}, { encrypt: false }],
  [
    'video:full',
    { transcode: { encrypt: true } },
    {
      cover: {},
      preview: { start_sec: 0, duration: 3, width: 480, fps: 10, format: 'webp' },
      transcode: { encrypt: true },
    },
  ],
];

const refused: [JobType, unknown, string][] = [
  ['image:thumbnail', { outputs: [] }, 'outputs'],
  ['image:thumbnail', { outputs: outputs(21) }, 'outputs'],
  ['image:thumbnail', { outputs: [{ variant: 'a', width: 0, format: 'webp' }] }, 'outputs.0.width'],
  ['image:thumbnail', { outputs: [{ variant: 'a', width: 1.5, format: 'webp' }] }, 'outputs.0.width'],
  ['image:thumbnail', { outputs: [{ variant: '../a', width: 1, format: 'webp' }] }, 'outputs.0.variant'],
  ['image:thumbnail', { outputs: [{ variant: 'a'.repeat(33), width: 1, format: 'webp' }] }, 'outputs.0.variant'],
  ['image:thumbnail', { outputs: [{ variant: 'a', width: 1, format: 'bmp' }] }, 'outputs.0.format'],
  ['image:thumbnail', { outputs: [...outputs(1), ...outputs(1)] }, 'outputs.1.variant'],
  ['image:thumbnail', { outputs: [{ variant: 'a', width: 1, format: 'webp', height: 3 }] }, 'outputs.0'],
  ['video:cover', { timestamp_sec: -1 }, 'timestamp_sec'],
  ['video:cover', { timestamp_sec: Number.POSITIVE_INFINITY }, 'timestamp_sec'],
  ['video:preview', { start_sec: -1 }, 'start_sec'],
  ['video:preview', { duration: 0.4 }, 'duration'],
  ['video:preview', { duration: 15, fps: 30 }, 'duration'],
  ['video:preview', { width: 63 }, 'width'],
  ['video:preview', { fps: 31, duration: 1 }, 'fps'],
  ['video:preview', { format: 'jpg' }, 'format'],
  ['video:transcode', { encrypt: 'yes' }, 'encrypt'],
  ['video:full', { timestamp_sec: 3 }, ''],
  ['video:full', { cover: { encrypt: true } }, 'cover'],
  ['video:full', null, ''],
];

describe('the options of each job type', () => {
  it.each(accepted)('%s accepts %j and fills in the defaults', (type, options, parsed) => {
    expect(jobTypes[type].options.parse(options)).toEqual(parsed);
  });

  it.each(refused)('%s refuses %j and names the field', (type, options, path) => {
    const result = jobTypes[type].options.safeParse(options);
    expect(result.success).toBe(false);
    expect(result.error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
  });

  it.each<[JobType, unknown, string, string]>([
    [
      'image:thumbnail',
      { outputs: [{ variant: 'A', width: 1, format: 'webp' }] },
      'invalid_format',
      'must be 1–32 of a–z, 0–9, "_" and "-", and begin with a letter or digit',
    ],
    ['image:thumbnail', { outputs: [...outputs(1), ...outputs(1)] }, 'custom', 'must be unique in the job'],
    ['video:preview', { duration: 15, fps: 30 }, 'custom', 'duration × fps must be at most 300'],
  ])('%s refuses %j and says what is expected', (type, options, code, message) => {
    expect(jobTypes[type].options.safeParse(options).error?.issues).toMatchObject([{ code, message }]);
  });
});

describe('what depends on the type of a job', () => {
  it.each([
    ['image:thumbnail', 'image', 'image', false, 536_870_912],
    ['video:cover', 'video', 'whole', false, null],
    ['video:preview', 'video', 'whole', false, null],
    ['video:transcode', 'video', 'split', true, null],
    ['video:full', 'video', 'split', true, null],
  ] as const)(
    'a %s looks at its source as %s before, begins with the unit %s; it makes a stream: %s; its source may have %s bytes',
    (type, preflight, firstUnit, makesStream, sourceBytesMax) => {
      expect(jobTypes[type]).toMatchObject({ preflight, firstUnit, makesStream, sourceBytesMax });
    },
  );

  it('only a job that encrypts needs a content key', () => {
    const needs = jobTypeNames.map((type) => {
      const row = jobTypeRow(type);
      const encrypting = { 'video:transcode': { encrypt: true }, 'video:full': { transcode: { encrypt: true } } };
      const options = row.options.parse((encrypting as Partial<Record<JobType, object>>)[type] ?? {});
      return [type, row.needsContentKey(row.options.parse({})), row.needsContentKey(options)];
    });
    expect(needs).toEqual([
      ['image:thumbnail', false, false],
      ['video:cover', false, false],
      ['video:preview', false, false],
      ['video:transcode', false, true],
      ['video:full', false, true],
    ]);
  });
});
