import { createHash } from 'node:crypto';
import {
  assert,
  constant,
  constantFrom,
  nat,
  oneof,
  property,
  record,
  stringMatching,
  tuple,
  uniqueArray,
} from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldersOf, manifestJson, type ManifestObject, parseManifest } from './manifest.ts';

const outcome = {
  job_id: '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10',
  attempt: 1,
  type: 'video:transcode',
  hash: 'h',
  rev: '0123456789abcdef',
  status: 'failed',
  results: null,
  error: { code: 'internal', message: 'A fault.', retryable: false, attempt: 1 },
  tool_version: '1.2.3',
} as const;
const sha256 = 'ab'.repeat(32);
const object = (key: string, size = 1): ManifestObject => ({ key, size, sha256 });

const inOrder = (all: readonly { key: string; size: number }[]) => all.toSorted((a, b) => (a.key < b.key ? -1 : 1));

describe('a result manifest', () => {
  it('a result manifest names the same objects after it was written and read', () => {
    const name = oneof(
      stringMatching(/^(seg_[0-9]{1,2}\.(m4s|vtt)|init\.mp4|[a-z]{1,4}\.m3u8)$/),
      constant('__proto__'),
    );
    const key = tuple(constantFrom('a/', 'a/b/', 'b/'), name).map(([folder, file]) => `${folder}${file}`);
    const objects = uniqueArray(record({ key, size: nat() }), { selector: (each) => each.key });
    assert(
      property(objects, (list) => {
        const read = parseManifest(
          manifestJson(
            outcome,
            list.map((each) => ({ ...each, sha256 })),
          ),
        );
        expect(inOrder(read.objects)).toEqual(inOrder(list));
      }),
    );
  });

  it('a result manifest lists segments by their sizes, and has one digest for each folder that anybody can compute', () => {
    const objects = [
      object('v/seg_2.m4s', 20),
      object('v/init.mp4', 5),
      object('v/seg_1.m4s', 10),
      object('m.m3u8', 3),
    ];
    const lines = ['init.mp4 5', 'seg_1.m4s 10', 'seg_2.m4s 20'].map((line) => `${line} ${sha256}\n`).join('');
    expect(foldersOf(objects)).toMatchObject([
      {
        folder: 'v/',
        files: [['init.mp4', 5]],
        segments: { extension: 'm4s', sizes: [10, 20] },
        sha256: createHash('sha256').update(lines).digest('hex'),
      },
      { folder: '', files: [['m.m3u8', 3]], segments: null },
    ]);
  });

  it('a result manifest has at most a tenth of the bytes that a list of its objects has', () => {
    const root = `videos/ab/${'h'.repeat(64)}/0123456789abcdef/video/r1080_h264`;
    const objects = Array.from({ length: 7200 }, (_, index) =>
      object(`${root}/seg_${index + 1}.m4s`, 5_000_000 + index),
    );
    expect(manifestJson(outcome, objects).length).toBeLessThan(JSON.stringify(objects).length / 10);
  });
});
