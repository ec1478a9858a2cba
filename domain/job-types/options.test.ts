import { describe, expect, it } from 'vitest';
import { type JobType, jobTypes } from './index.ts';

const outputs = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ variant: `v${n}`, width: 10, format: 'webp' }));

const accepted: [JobType, unknown, unknown][] = [
  ['image:thumbnail', {}, { outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] }],
  ['image:thumbnail', { outputs: outputs(20) }, { outputs: outputs(20) }],
  ['video:cover', {}, {}],
  ['video:cover', { timestamp_sec: 86_400 }, { timestamp_sec: 86_400 }],
  ['video:preview', {}, { start_sec: 0, duration: 3, width: 480, fps: 10, format: 'webp' }],
  ['video:preview', { duration: 10, fps: 30 }, { start_sec: 0, duration: 10, width: 480, fps: 30, format: 'webp' }],
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
  ['image:thumbnail', { outputs: [{ variant: 'a', width: 8193, format: 'webp' }] }, 'outputs.0.width'],
  ['image:thumbnail', { outputs: [{ variant: 'a', width: 1.5, format: 'webp' }] }, 'outputs.0.width'],
  ['image:thumbnail', { outputs: [{ variant: 'A', width: 1, format: 'webp' }] }, 'outputs.0.variant'],
  ['image:thumbnail', { outputs: [{ variant: '../a', width: 1, format: 'webp' }] }, 'outputs.0.variant'],
  ['image:thumbnail', { outputs: [{ variant: 'a', width: 1, format: 'bmp' }] }, 'outputs.0.format'],
  ['image:thumbnail', { outputs: [...outputs(1), ...outputs(1)] }, 'outputs.1.variant'],
  ['image:thumbnail', { outputs: [{ variant: 'a', width: 1, format: 'webp', height: 3 }] }, 'outputs.0'],
  ['video:cover', { timestamp_sec: -1 }, 'timestamp_sec'],
  ['video:cover', { timestamp_sec: 86_401 }, 'timestamp_sec'],
  ['video:cover', { timestamp_sec: Number.POSITIVE_INFINITY }, 'timestamp_sec'],
  ['video:preview', { duration: 0.4 }, 'duration'],
  ['video:preview', { duration: 15, fps: 30 }, 'duration'],
  ['video:preview', { width: 1281 }, 'width'],
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
});
