import { randomUUID } from 'node:crypto';
import { array, constantFrom, integer, oneof, record, string, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import { faultOfToString } from '#domain/jobs/faults.ts';
import { defaultDocument, mediaProfilesSchema } from '#domain/media/profiles.ts';
import { signPlaybackToken, verifyPlaybackToken } from '#domain/playback/token.ts';
import { readThumb, signThumbPath } from '#domain/playback/thumb.ts';
import { manifestObjectsMax, parseManifest } from '#domain/work/manifest.ts';
import { parseTaskRequest } from '#domain/work/batch-tasks.ts';
import { parseReport } from '#domain/work/report.ts';
import { parseChunkResult, parsePendingChunks, parseSplit } from '#domain/work/split.ts';
import { parseTask } from '#domain/work/task.ts';
import { readJobCursor } from '../../api/job-cursor.ts';
import { encodePlanSchema } from '../../runner/handlers/video-transcode/chunked/plan.ts';
import { encodedSchema } from '../../runner/handlers/video-transcode/encoded.ts';
import { parseFfprobe, secondsOf, spanOf } from '../../runner/source/ffprobe-document.ts';
import { readStreams } from '../../runner/source/streams.ts';
import { readVideoStream } from '../../runner/source/video-stream.ts';
import { fuzz } from '../../testing/fuzz.ts';
import { anyText, anyValue, changedJson, stringsIn } from '../../testing/hostile-values.ts';

// Documents and tokens that others wrote: a runner, a tool, a caller, an operator.

const job_id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const rev = '0123456789abcdef';
const sha256 = 'ab'.repeat(32);
const error = { code: 'internal', message: 'A fault.', retryable: false, attempt: 1, details: { log_tail: 'x' } };
const folder = { folder: 'a/', files: [['m.m3u8', 3]], segments: { extension: 'm4s', sizes: [1, 2] }, sha256 };
const manifest = {
  v: 2,
  tool_version: '0.1.0',
  job_id,
  attempt: 1,
  type: 'video:transcode',
  hash: 'h',
  rev,
  status: 'failed',
  results: null,
  error,
  folders: [folder],
};
const split = { v: 1, rev, earlier: [rev], chunk_frames: [250, 250] };
const track = { kind: 'video', id: 'r360_h264', playlist: '#EXTM3U', iframe_playlist: null };
const object = { key: 'a/b', size: 1, sha256 };

/** A length of which no number can be made, as zod tries before it looks at the type. */
const oddLength = { length: { toString: 1, valueOf: 1 } };
const withOddLengths = (document: object) =>
  JSON.stringify(Object.fromEntries(Object.keys({ v: 1, ...document }).map((name) => [name, oddLength])));

/** The errors that readers of JSON documents declare. */
const declared = ['ZodError', 'SyntaxError', 'TypeError', 'Error'];

function valueOrRefusal<T>(read: () => T): T | null {
  try {
    return read();
  } catch (thrown) {
    const { name, message } = thrown as Error;
    expect(declared).toContain(name);
    // A stack or memory that ran out, or a bug, is no refusal.
    if (name !== 'ZodError')
      expect(message).not.toMatch(/undefined|not a function|not iterable|primitive|call stack|string length/);
    return null;
  }
}

describe('documents of runners', () => {
  type Read = (json: string) => unknown;
  type Case = [name: string, json: string, read: Read];
  const documents: readonly (readonly [string, object, Read])[] = [
    ['split', split, parseSplit],
    ['pending chunks', { ...split, chunks: [0] }, parsePendingChunks],
    [
      'chunk result',
      { v: 1, tracks: [track], master: 'm', dash: 'd', damaged_frames: 0, objects: [object] },
      parseChunkResult,
    ],
    ['encode plan', {}, (json) => encodePlanSchema.parse(JSON.parse(json))],
    ['encoded document', {}, (json) => encodedSchema.parse(JSON.parse(json))],
    [
      'task',
      {
        v: 2,
        job_id,
        attempt: 1,
        type: 'video:cover',
        hash: 'h',
        prefix: 'ab',
        rev,
        options: {},
        trace: null,
        source: {
          key: 'k',
          etag: null,
          size: null,
          bytes_max: 1,
        },
        unit: { kind: 'whole' },
        profile: {
          ...defaultDocument,
          name: 'default',
        },
      },
      (json) => parseTask(json),
    ],
  ];
  fuzz(
    'a document is read or refused with a declared error',
    {
      of: oneof(
        ...documents.map(([name, valid, read]) => tuple(constantFrom(name), changedJson(valid), constantFrom(read))),
      ),
      examples: documents.map(([name, valid, read]): Case => [name, withOddLengths(valid), read]),
    },
    ([, json, read]) => void valueOrRefusal(() => read(json)),
  );

  fuzz(
    'a result manifest names a bounded number of objects',
    { of: changedJson(manifest), examples: [JSON.stringify({ ...manifest, hash: oddLength })] },
    (json) => {
      const objects = valueOrRefusal(() => parseManifest(json))?.objects ?? [];
      expect(objects.length).toBeLessThanOrEqual(manifestObjectsMax);
    },
  );

  it('a small result manifest that names millions of objects is refused', () => {
    const sizes = Array<number>(100_000).fill(0);
    const folders = Array.from({ length: 6 }, () => ({ ...folder, segments: { extension: 'm4s', sizes } }));
    expect(() => parseManifest(JSON.stringify({ ...manifest, folders }))).toThrow('500000 objects');
  });

  const reports = [
    { type: 'progress', phase: 'encode', fraction: 0.5 },
    { type: 'warning', warning: { code: 'a', message: 'b' } },
    { type: 'result', error, steps: [] },
  ];
  fuzz(
    'a report line is a bounded report of well-formed text, or none',
    { of: oneof(...reports.map(changedJson)) },
    (line) => {
      const report = parseReport(line);
      const texts = stringsIn(report);
      expect(texts.every((text) => text.isWellFormed() && text.length <= 4096)).toBe(true);
    },
  );

  const request = { ended: { job_id, attempt: 1, exit_code: 0, error }, is_last: false };
  fuzz('a request for a task is read or null', { of: changedJson(request) }, (json) => {
    const texts = stringsIn(parseTaskRequest(json));
    expect(texts.every((text) => text.isWellFormed())).toBe(true);
  });
});

describe('descriptions of sources', () => {
  const stream = {
    index: 0,
    codec_type: 'video',
    codec_name: 'h264',
    codec_tag_string: 'avc1',
    width: 320,
    height: 180,
    sample_aspect_ratio: '1:1',
    pix_fmt: 'yuv420p',
    avg_frame_rate: '25/1',
    r_frame_rate: '25/1',
    start_time: '0.0',
    duration: '3.0',
    channels: 2,
    sample_rate: '48000',
    disposition: { default: 1 },
    tags: { DURATION: '00:00:03.000' },
    side_data_list: [
      {
        side_data_type: 'Display Matrix',
        rotation: 90,
      },
    ],
  };
  const format = { format_name: 'mov,mp4', start_time: '0.0', duration: '3.0' };
  const document = {
    streams: [
      stream,
      {
        ...stream,
        index: 1,
        codec_type: 'audio',
      },
      {
        ...stream,
        codec_type: 'subtitle',
      },
    ],
    format,
    chapters: [
      {
        start_time: '0',
        end_time: '1',
        tags: { title: 'a' },
      },
    ],
  };
  const odd = { ...stream, side_data_list: [{ side_data_type: 'Display Matrix', rotation: oddLength.length }] };
  const printed = { of: changedJson(document), examples: [JSON.stringify({ ...document, streams: [odd] })] };
  fuzz('what ffprobe prints becomes finite numbers, or a known problem', printed, (json) => {
    const read = valueOrRefusal(() => parseFfprobe(json));
    if (read === null) return;
    try {
      const streams = readStreams(read);
      if (streams.video === null) return;
      const video = readVideoStream(streams);
      const numbers = Object.values(video).filter((value) => typeof value === 'number');
      expect(numbers.every((value) => Number.isFinite(value))).toBe(true);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(KnownProblem);
    }
  });

  const clock = tuple(anyText, integer()).map(([text, number]) => `${text}${number}:00:00`);
  fuzz(
    'the times of a stream are finite',
    { of: oneof(anyText, clock), examples: [`${'9'.repeat(400)}:00:00`] },
    (text) => {
      const [plain] = parseFfprobe(JSON.stringify({ streams: [{ index: 0 }], format: { format_name: 'a' } })).streams;
      if (plain === undefined) throw new Error('expected a stream');
      const { endSec } = spanOf({ ...plain, tags: { DURATION: text } }, 0);
      expect([secondsOf(text), endSec].every((value) => value === null || Number.isFinite(value))).toBe(true);
    },
  );
});

describe('settings', () => {
  const documents = { of: anyValue, examples: [oddLength, [oddLength]] };
  fuzz('a document of MEDIA_PROFILES of any kind is checked without throwing', documents, (value) => {
    if (faultOfToString(value) !== null) return;
    const rule = { profile: value, source_prefix: value, source_bytes_min: value, source_bytes_max: value };
    mediaProfilesSchema.safeParse({ profiles: { a: value, b: { ladder: value, watermark: value } }, rules: [rule] });
  });
});

describe('tokens, signatures and cursors', () => {
  const secret = 'a secret of over sixteen bytes';
  const expected = { hash: 'h', nowSec: 1000 };
  fuzz('a playback token holds for its hash alone', { of: tuple(anyText, integer({ min: 1000 })) }, ([hash, exp]) => {
    const token = signPlaybackToken({ hash, exp }, secret);
    expect(verifyPlaybackToken(token, secret, { ...expected, hash })).toBe('valid');
    expect(verifyPlaybackToken(token, secret, { ...expected, hash: `${hash}x` })).toBe('hash_mismatch');
    expect(verifyPlaybackToken(token, `${secret}x`, expected)).toBe('invalid_signature');
  });
  fuzz(
    'text that is no token is never valid',
    {
      of: oneof(
        anyText,
        tuple(anyText, anyText).map((p) => p.join('.')),
      ),
    },
    (text) => {
      expect(verifyPlaybackToken(text, secret, expected)).toBe('invalid_signature');
    },
  );

  const key = tuple(constantFrom('images/ab/', 'videos/00/'), string({ minLength: 1 })).map(
    ([prefix, name]) => `${prefix}${name.replaceAll(/[/.]/g, '_')}.png`,
  );
  const query = record({ w: integer({ min: 1, max: 4096 }), q: integer({ min: 1, max: 100 }) }, { requiredKeys: [] });
  const settings = { secrets: [secret], presets: new Map(), isUnsigned: false, sourcePrefix: null };
  fuzz('a signed image address is read as it was signed', { of: tuple(key, query) }, ([name, asked]) => {
    const path = signThumbPath(name, asked, secret);
    expect(readThumb(path, settings, 0)).toEqual({ kind: 'valid', key: name, query: asked });
    for (const changed of [
      `${path}0`,
      path.replace('/thumb/', '/thumb/A'),
      `${path}${path.includes('?') ? '&' : '?'}h=9`,
    ])
      expect(readThumb(changed, settings, 0).kind).toBe('forbidden');
  });
  fuzz(
    'any other address is forbidden',
    { of: array(anyText, { maxLength: 6 }).map((all) => all.join('/')) },
    (path) => {
      expect(readThumb(path, settings, 0).kind).toBe('forbidden');
    },
  );
  const forged = changedJson([1, randomUUID()]).map((json) => Buffer.from(json).toString('base64url'));
  fuzz('text that is no cursor is invalid_request', { of: oneof(anyText, forged) }, (text) => {
    try {
      const { createdAt, id } = readJobCursor(text);
      expect([Number.isNaN(createdAt.getTime()), id.length]).toEqual([false, 36]);
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'invalid_request' });
    }
  });
});
