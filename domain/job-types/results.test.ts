import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { imageKey, masterKey, revisionOf, videoKey } from '../media/object-keys.ts';
import { imageKeysOf } from './image-keys.ts';
import { imageStagesSchema } from './image-stages.ts';
import { type JobType, jobTypes } from './index.ts';
import { mainObjectOf } from './main-object.ts';
import { retryPlanSchema } from './retry-plan.ts';

// Results as workers write them, with every field that there is.

const folder = 'videos/ab/h/0123456789abcdef';
const warnings = [{ code: 'above_profile', message: 'The source has more.' }];
const placeholder = { blurhash: 'LEHV6nWB2yk8', dominant_color: '#a0b1c2' };
const preview = { key: `${folder}/preview.webp`, format: 'webp', size: 9 };
const cover = { key: `${folder}/cover.jpg`, format: 'jpg', size: 9, ...placeholder };

const videoTrack = {
  id: 'r1080_h264',
  codec: 'avc1.640028',
  hdr: 'none',
  width: 1920,
  height: 1080,
  bitrate: 5_000_000,
  playlist: `${folder}/video/r1080_h264/playlist.m3u8`,
  init: `${folder}/video/r1080_h264/init.mp4`,
  segment_count: 2,
  quality: { measure: 'vmaf', score: 95, crf: 22 },
  audio_track_ids: ['audio_en_aac_2ch'],
};
const audioTrack = {
  id: 'audio_en_aac_2ch',
  role: 'main',
  language: 'en',
  codec: 'mp4a.40.2',
  channels: 2,
  bitrate: 160_000,
  playlist: `${folder}/audio/en_aac_2ch/playlist.m3u8`,
  init: `${folder}/audio/en_aac_2ch/init.mp4`,
  segment_count: 2,
  loudness: { integrated_lufs: -23, range_lu: 5, true_peak_dbtp: -1 },
};
const textTrack = {
  id: 'text_en',
  codec: 'webvtt',
  language: 'en',
  name: 'English',
  forced: false,
  hearing_impaired: true,
  playlist: `${folder}/text/en/playlist.m3u8`,
  segment_count: 1,
};
const sourceVideo = {
  codec: 'hevc',
  width: 3840,
  height: 2160,
  frame_rate: 25,
  rotation: 90,
  hdr: 'dolby_vision',
  pixel_format: 'yuv420p10le',
  interlaced: false,
};
const transcode = {
  streaming: {
    protocol: 'hls',
    container: 'cmaf',
    encrypted: true,
    master_playlist: 'videos/ab/h/master.m3u8',
    revision_playlist: `${folder}/master.m3u8`,
    dash_manifest: `${folder}/manifest.mpd`,
    default_audio_track_id: 'audio_en_aac_2ch',
  },
  audio_tracks: [audioTrack],
  video_tracks: [videoTrack],
  text_tracks: [textTrack],
  storyboard: { playlist: `${folder}/storyboard/playlist.m3u8`, cues: `${folder}/storyboard/cues.vtt` },
  waveform: { key: `${folder}/waveform.webp`, format: 'webp', width: 1200, height: 200, size: 9 },
  chapters: { cues: `${folder}/chapters.vtt`, list: [{ start_sec: 0, end_sec: 9.5, title: 'Begin' }] },
  encryption: { scheme: 'cbcs', kid: '0123456789abcdef'.repeat(2), key_endpoint: 'https://m.example/api/key/h' },
  source: {
    container: 'mov',
    size: 1,
    duration_sec: 9.5,
    video: sourceVideo,
    audio: [{ codec: 'aac', channels: 2, sample_rate: 48_000, language: 'en' }],
  },
  warnings,
};
const stages = {
  source: { status: 'ready' },
  cover: { status: 'ready' },
  preview: { status: 'failed', error: 'corrupt_input', retryable: false },
  transcode: { status: 'failed', error: 'packager_error', retryable: true },
};
const retryPlan = {
  allowed: true,
  strategy: 'retry_tasks',
  job_types: ['video:cover', 'video:preview', 'video:transcode'],
  stages: ['cover', 'preview', 'transcode'],
  reason: 'Failed.',
};
const output = {
  variant: 'v',
  key: 'images/ab/h/0123456789abcdef/v.webp',
  width: 3,
  height: 2,
  format: 'webp',
  size: 9,
};

const results: Readonly<Partial<Record<JobType, object>>> = {
  'image:thumbnail': { key: output.key, outputs: [output], ...placeholder, warnings },
  'video:cover': { ...cover, width: 1920, height: 1080, timestamp_sec: 1.5, warnings },
  'video:preview': { ...preview, width: 480, height: 270, frames: 30, warnings },
  'video:transcode': transcode,
  'video:full': { ...transcode, stages, artifacts: { cover, preview }, retry_plan: retryPlan, warnings },
};

/** The types that have results here; a new type has tests of its own. */
const types = Object.keys(results) as JobType[];

/** A copy of a value with another one at a path, such as `video_tracks.0.id`; `absent` leaves the field out. */
const absent = Symbol('absent');
function changed(value: unknown, path: string, to: unknown): unknown {
  const copy = structuredClone(value);
  const names = path.split('.');
  const last = names.pop() as string;
  let at = copy as Record<string, unknown>;
  for (const name of names) at = at[name] as Record<string, unknown>;
  if (to === absent) delete at[last];
  else at[last] = to;
  return copy;
}

/** The path of every field of a value. */
function pathsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...pathsOf(inner).map((path) => `${name}.${path}`)]);
}

/** Fields that may be left out: of results that have none, or from before there were any. */
const optional = [
  /^(warnings|blurhash|dominant_color|text_tracks|storyboard|waveform|chapters|encryption)$/,
  /^artifacts\.(cover|preview|cover\.blurhash|cover\.dominant_color)$/,
  /^stages\.\w+\.(error|retryable)$/,
  /^streaming\.(revision_playlist|dash_manifest)$/,
  /^(audio_tracks\.0\.loudness|video_tracks\.0\.(hdr|quality))$/,
];
/** The fields of a stream that a failed `video:full` lacks. */
const ofStream = new Set(Object.keys(transcode).filter((name) => name !== 'warnings'));

describe('the results of a job', () => {
  it.each(types)('results of %s keep every field', (type) => {
    expect(jobTypes[type].results.parse(results[type])).toEqual(results[type]);
  });

  it.each(types)('results of %s are refused without a field that they need, and taken without another', (type) => {
    // An element of a list is no field.
    const paths = pathsOf(results[type]).filter((path) => !/\d$/.test(path));
    for (const path of paths) {
      const mayBeAbsent =
        (optional.some((pattern) => pattern.test(path)) &&
          !(path === 'warnings' && ['video:transcode', 'video:full'].includes(type))) ||
        (type === 'video:full' && ofStream.has(path));
      const parsed = jobTypes[type].results.safeParse(changed(results[type], path, absent));
      expect([path, parsed.success]).toEqual([path, mayBeAbsent]);
    }
  });

  it.each<[JobType, string, readonly unknown[]]>([
    ['video:cover', 'size', [0, 1.5]],
    ['video:cover', 'blurhash', ['LEHV6', 'x'.repeat(99), 'LEHV6n B2yk8', 'LEHV6nB\n']],
    ['video:cover', 'dominant_color', ['#A0B1C2', '#a0b1c2d', 'x#a0b1c2', '#a0b']],
    ['video:cover', 'warnings.0.code', ['1st', 'Above', 'a-b', 'x'.repeat(65), ' a', 'a ']],
    ['image:thumbnail', 'outputs', [[], Array.from({ length: 21 }, () => output)]],
    ['video:transcode', 'audio_tracks', [Array.from({ length: 17 }, () => audioTrack)]],
    [
      'video:transcode',
      'audio_tracks.0.id',
      ['en_aac_2ch', 'audio_en_aac_2', 'audio_en_aac_2ch_', 'audio_e n_aac_2ch'],
    ],
    [
      'video:transcode',
      'video_tracks.0.id',
      ['1080_h264', 'r_h264', 'r1080_', 'xr1080_h264', 'r1080_h264 ', 'r1080-h264'],
    ],
    ['video:transcode', 'text_tracks.0.id', ['en', 'text_', 'xtext_en', 'text_en_', 'text_en_x', 'text_e n']],
    ['video:transcode', 'encryption.kid', ['0'.repeat(31), '0'.repeat(33), 'g'.repeat(32), 'A'.repeat(32)]],
    ['video:transcode', 'encryption.key_endpoint', ['key', `https://m.example/${'x'.repeat(2048)}`]],
    ['video:full', 'retry_plan.stages', [['source'], Array.from({ length: 4 }, () => 'cover')]],
  ])('results of %s with another %s than there can be are refused', (type, path, values) => {
    const taken = values.filter(
      (value) => jobTypes[type].results.safeParse(changed(results[type], path, value)).success,
    );
    expect(taken).toEqual([]);
  });

  it('of more warnings and chapters than fit the first are kept, and a long reason of a plan is cut', () => {
    const many = Array.from({ length: 60 }, (_, n) => ({ code: `w${n}`, message: 'x'.repeat(1001) }));
    const parsed = jobTypes['video:cover'].results.parse({ ...results['video:cover'], warnings: many });
    expect(parsed.warnings).toHaveLength(50);
    expect(parsed.warnings?.[49]).toEqual({ code: 'w49', message: 'x'.repeat(1000) });
    expect(retryPlanSchema.parse({ ...retryPlan, reason: 'x'.repeat(1001) }).reason).toBe('x'.repeat(1000));
  });

  it('what the image stages of a video:full hand on keeps every field', () => {
    const error = { code: 'corrupt_input', message: 'Damaged.', retryable: false, attempt: 1 };
    const given = { artifacts: { cover, preview }, errors: { cover: null, preview: error }, warnings };
    expect(imageStagesSchema.parse(given)).toEqual(given);
    for (const path of ['artifacts', 'errors', 'errors.cover', 'errors.preview', 'warnings'])
      expect([path, imageStagesSchema.safeParse(changed(given, path, absent)).success]).toEqual([path, false]);
  });
});

describe('the images of results', () => {
  it.each<[string, JobType, readonly string[]]>([
    ['every variant', 'image:thumbnail', [output.key]],
    ['the cover', 'video:cover', [cover.key]],
    ['the preview', 'video:preview', [preview.key]],
    ['no image', 'video:transcode', []],
    ['cover and preview', 'video:full', [cover.key, preview.key]],
  ])('are %s, of a %s', (_, type, keys) => {
    expect([...imageKeysOf(results[type] as never)]).toEqual(keys);
  });

  it('do not exist for a job without results or a stage that failed', () => {
    expect(imageKeysOf(null)).toEqual(new Set());
    expect(imageKeysOf({ warnings } as never)).toEqual(new Set());
    expect(imageKeysOf({ artifacts: { cover: null, preview } } as never)).toEqual(new Set([preview.key]));
  });
});

describe('the main object of results', () => {
  const [rev, other] = ['0123456789abcdef', 'fedcba9876543210'];
  const root = mainObjectRoot();
  const image = root.replace('videos', 'images');

  it.each<[string, unknown, string | null]>([
    [
      'the first below the revision',
      { master: `${root}/master.m3u8`, rest: [`${root}/${rev}/a`, `${root}/${rev}/b`] },
      'a',
    ],
    ['an image', { outputs: [{ key: `${image}/${rev}/v.webp` }] }, 'v.webp'],
    ['of the hash, not of another', { first: `videos/ab/other/${rev}/x`, second: `${root}/${rev}/a` }, 'a'],
    ['below the first revision that is named', { first: `${root}/${rev}/a`, second: `${root}/${other}/b` }, 'a'],
    ['none without a revision', { master: `${root}/master.m3u8`, number: 1, no: undefined, nothing: null }, null],
    ['none below a revision of another media', { key: `videos/ab/other/${rev}/a` }, null],
    ['of a key, not of a text that has one', { text: `x/${root}/${other}/x`, key: `${root}/${rev}/a` }, 'a'],
    ['none of no results', null, null],
  ])('is %s', (_, given, name) => {
    const found = mainObjectOf('h', given as never);
    expect(found?.split('/').at(-1) ?? null).toBe(name);
    if (found !== null) expect(found).toContain('/h/');
  });
});

it('the main object of results is found whatever the hash and the attempt', () => {
  const hashes = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,20}$/);
  fc.assert(
    fc.property(hashes, fc.uuid(), fc.integer({ min: 1, max: 9 }), fc.boolean(), (hash, id, attempt, isImage) => {
      const rev = revisionOf(id, attempt);
      const key = isImage ? imageKey(hash, rev, { variant: 'v', format: 'webp' }) : videoKey(hash, rev, 'master.m3u8');
      expect(mainObjectOf(hash, { top: masterKey(hash), nested: [{ key }] } as never)).toBe(key);
    }),
  );
});

/** `videos/<prefix>/h`. */
function mainObjectRoot(): string {
  // printf h | sha256sum
  return 'videos/aa/h';
}
