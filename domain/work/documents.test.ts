import { expect, it } from 'vitest';
import { around, describeDocuments, type DocumentFault, many } from '../../testing/document-cases.ts';
import { exampleJob } from '../../testing/example-job.ts';
import { namedProfileSchema } from '../media/profiles.ts';
import { parseTaskAnswer, parseTaskRequest } from './batch-tasks.ts';
import { parseManifest } from './manifest.ts';
import { parseReport } from './report.ts';
import {
  chunksMax,
  earlierRevsMax,
  parseChunkResult,
  parsePendingChunks,
  parseSplit,
  parseSplitImages,
} from './split.ts';
import { parseTask, taskOf } from './task.ts';
import { parseServedTask, parseTaskEnd } from './warm-runner.ts';

// What units hand to each other, and the lines of the protocols: each reader takes what its writer makes, and refuses
// each of these faults.

const rev = '0123456789abcdef';
const jobId = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const error = { code: 'internal', message: 'A fault.', retryable: false, attempt: 1 };
const object = { key: 'a/b', size: 7, sha256: 'ab'.repeat(32) };
const yearMs = 366 * 24 * 3600 * 1000;
const step = {
  step: 'all',
  started_at: '2026-11-24T08:00:00.000Z',
  duration_ms: yearMs,
  processor_ms: null,
  code: null,
};
const options = { outputs: [{ variant: 'thumb', width: 300, format: 'webp' as const }] };
const task = taskOf({
  job: exampleJob({ type: 'image:thumbnail', options, sourceSizeBytes: 10, sourceEtag: '"a"', rerunOfJobId: jobId }),
  unit: { kind: 'image' },
  split: null,
  maxFileSizeBytes: 5_000,
});
const profile = namedProfileSchema.parse({ name: 'small', crf: 30 });
const cover = { key: 'c.jpg', format: 'jpg', size: 1 };
const revFaults = (path: string) => around(path, rev);
const oneTooMany = (max: number, each: unknown) => many(max + 1, each);

const split = { v: 1, rev, earlier: ['f'.repeat(16)], chunk_frames: [1, 12 * 3600 * 60] };
const manifest = {
  job_id: jobId,
  attempt: 2,
  type: 'video:transcode',
  hash: 'h'.repeat(128),
  rev,
  status: 'failed',
  results: null,
  error,
  tool_version: '1.2.3',
};
const folder = {
  folder: 'v/',
  files: [['init.mp4', 5]],
  segments: { extension: 'm4s', sizes: [10, 0] },
  sha256: object.sha256,
};

describeDocuments({
  'a split': {
    read: parseSplit,
    valid: split,
    faults: [
      ['v', 2],
      ...revFaults('rev'),
      ...revFaults('earlier.0'),
      ['earlier', oneTooMany(earlierRevsMax, rev)],
      ['chunk_frames', []],
      ['chunk_frames', oneTooMany(chunksMax, 1)],
      ['chunk_frames.0', 0],
      ['chunk_frames.0', 1.5],
      ['chunk_frames.0', 12 * 3600 * 60 + 1],
      ['more', 1],
    ],
  },
  'pending chunks': {
    read: parsePendingChunks,
    valid: { ...split, chunks: [0, chunksMax] },
    faults: [
      ['chunks', undefined],
      ['chunks.0', -1],
      ['chunks.0', chunksMax + 1],
      ['chunks', oneTooMany(chunksMax, 1)],
    ],
  },
  'the result of a chunk': {
    read: parseChunkResult,
    valid: {
      v: 1,
      tracks: [
        { kind: 'video', id: 'i'.repeat(128), playlist: 'p'.repeat(4 * 1024 * 1024), iframe_playlist: 'p' },
        { kind: 'audio', id: 'a', playlist: 'p', iframe_playlist: null },
        { kind: 'text', id: 't', playlist: 'p', iframe_playlist: null },
      ],
      master: 'm',
      dash: 'd',
      damaged_frames: 0,
      objects: [object],
    },
    faults: [
      ['v', 2],
      ['tracks', undefined],
      ['tracks', oneTooMany(64, { kind: 'text', id: 't', playlist: '', iframe_playlist: null })],
      ['tracks.0.kind', 'other'],
      ['tracks.0.id', 'i'.repeat(129)],
      ...['tracks.0.playlist', 'tracks.0.iframe_playlist', 'master', 'dash'].map((path): DocumentFault => [
        path,
        'p'.repeat(4 * 1024 * 1024 + 1),
      ]),
      ['damaged_frames', -1],
      ['objects.0.size', -1],
      ...around('objects.0.sha256', object.sha256),
    ],
  },
  'the images of a split': {
    read: parseSplitImages,
    valid: { v: 1, artifacts: { cover }, errors: { cover: null, preview: error }, warnings: [], objects: [object] },
    faults: [
      ['v', 2],
      ['artifacts.cover.format', 'png'],
      ['errors.preview', undefined],
      ['objects', oneTooMany(16, object)],
    ],
  },
  'a manifest': {
    read: parseManifest,
    valid: { v: 2, ...manifest, folders: [folder] },
    gives: {
      ...manifest,
      objects: [
        { key: 'v/init.mp4', size: 5 },
        { key: 'v/seg_1.m4s', size: 10 },
        { key: 'v/seg_2.m4s', size: 0 },
      ],
    },
    faults: [
      ['v', 1],
      ['v', 3],
      ['job_id', 'x'],
      ['attempt', 0],
      ['type', 'video:other'],
      ['hash', 'h'.repeat(129)],
      ...revFaults('rev'),
      ['status', 'completed'],
      ['status', 'queued'],
      ['error', null],
      ['results', { a: 1 }],
      ['tool_version', undefined],
      ['tool_version', `1.2.3-${'a'.repeat(60)}`],
      ...around('tool_version', '1.2.3+'),
      ...around('folders.0.sha256', object.sha256),
      ['folders.0.segments.extension', 'ts'],
      ['folders.0.segments.sizes', oneTooMany(100_000, 1)],
      ['folders.0.files', oneTooMany(10_000, ['a', 1])],
      ['folders.0.files.0.1', -1],
      // Each folder is within its bounds, and together they have more than an attempt may.
      ['folders', oneTooMany(5, { ...folder, segments: { extension: 'm4s', sizes: many(99_999, 1) } })],
      ['folders', oneTooMany(50, { ...folder, segments: null, files: many(10_000, ['a', 1]) })],
    ],
  },
  'a request of a batch': {
    read: (json) => parseTaskRequest(json) ?? refuse(),
    valid: { ended: { job_id: jobId, attempt: 1, exit_code: 255, error, steps: [step] }, is_last: false },
    faults: [
      ['is_last', undefined],
      ['ended', undefined],
      ['ended.job_id', 'x'],
      ['ended.attempt', 0],
      ['ended.exit_code', -1],
      ['ended.exit_code', 256],
      ['ended.error.code', 'other'],
      ['ended.steps', oneTooMany(3, step)],
      ['ended.steps.0.step', 'other'],
      ['ended.steps.0.duration_ms', yearMs + 1],
      ['ended.steps.0.processor_ms', -1],
      ['more', 1],
    ],
  },
  'the answer of a batch': {
    read: (json) => ({ task: parseTaskAnswer(json) }),
    valid: { task },
    faults: [
      ['task', undefined],
      ['task.attempt', 0],
      ['more', 1],
    ],
  },
  'a line to a warm runner': {
    read: parseServedTask,
    valid: { task, workspace: '/w' },
    faults: [
      ['task.attempt', 0],
      ['workspace', ''],
      ['workspace', undefined],
      ['more', 1],
    ],
  },
  'the end of a task': {
    read: (json) => parseTaskEnd(json) ?? refuse(),
    valid: { type: 'end', exit_code: 10, rss_bytes: 0 },
    faults: [
      ['type', 'phase'],
      ['exit_code', 1.5],
      ['rss_bytes', -1],
      ['more', 1],
    ],
  },
  'a phase': { read: reportOf, valid: { type: 'phase', phase: 'encoding' }, faults: [['phase', 'other']] },
  progress: {
    read: reportOf,
    valid: { type: 'progress', phase: 'encoding', fraction: 1 },
    faults: [
      ['fraction', 1.01],
      ['fraction', -0.01],
      ['phase', undefined],
    ],
  },
  'a warning': {
    read: reportOf,
    valid: { type: 'warning', warning: { code: 'a_code', message: 'm' } },
    faults: [['warning.code', 'A code']],
  },
  'a result': {
    read: reportOf,
    valid: { type: 'result', error, steps: [step] },
    faults: [
      ['error.code', 'other'],
      ['type', 'other'],
    ],
  },
  'a task': {
    read: parseTask,
    valid: { ...task, profile, trace: { traceparent: 'p', tracestate: 's' } },
    faults: [
      ['v', 1],
      ['job_id', 'x'],
      ['attempt', 0],
      ['type', 'other'],
      ['hash', 'h'.repeat(129)],
      ['source.key', 'k'.repeat(1025)],
      ['source.etag', 'e'.repeat(1025)],
      ['source.size', -1],
      ['source.bytes_max', 0],
      ['profile', undefined],
      ...around('prefix', 'ab'),
      ...revFaults('rev'),
      ['unit.kind', 'other'],
      ['unit', { kind: 'split', chunk_sec: 0 }],
      ['unit', { kind: 'chunk', chunk: -1 }],
      ['unit', { kind: 'chunk', chunks: [] }],
      ['rerun_of', 'x'],
      ['trace.traceparent', 'p'.repeat(65)],
      ['trace.tracestate', 's'.repeat(1025)],
      ['more', 1],
    ],
  },
});

function refuse(): never {
  throw new TypeError('refused');
}

function reportOf(line: string) {
  return parseReport(line) ?? refuse();
}

it('a manifest of the most objects that an attempt may have is read', () => {
  const folders = many(5, { ...folder, files: [], segments: { extension: 'm4s', sizes: many(100_000, 1) } });
  expect(parseManifest(JSON.stringify({ v: 2, ...manifest, folders })).objects).toHaveLength(500_000);
});

it('a completed manifest has results of its type', () => {
  const completed = { v: 2, ...manifest, type: 'image:thumbnail', status: 'completed', error: null, folders: [] };
  expect(() => parseManifest(JSON.stringify(completed))).toThrow('needs results');
  expect(() => parseManifest(JSON.stringify({ ...completed, results: {} }))).toThrow();
  const results = { key: 'k', outputs: [{ variant: 'thumb', key: 'k', width: 1, height: 1, format: 'webp', size: 1 }] };
  expect(parseManifest(JSON.stringify({ ...completed, results }))).toMatchObject({ results, error: null });
  expect(() => parseManifest(JSON.stringify({ v: 2, ...manifest, error: null, folders: [] }))).toThrow(
    'needs an error',
  );
});

it('a line that is no document of its protocol is null', () => {
  for (const line of ['', 'a tool says', '{', '{}', '{"type":"end"', '{"type":"end"}'])
    expect([parseReport(line), parseTaskRequest(line), parseTaskEnd(line)]).toEqual([null, null, null]);
});

it('a task says which job it makes again, where it makes one again', () => {
  expect(task.rerun_of).toBe(jobId);
  const plain = taskOf({ job: exampleJob(), unit: { kind: 'whole' }, split: null, maxFileSizeBytes: 1 });
  expect(plain).not.toHaveProperty('rerun_of');
});
