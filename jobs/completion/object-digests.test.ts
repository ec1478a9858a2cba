import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { digestDocuments, digestsKey } from '#domain/work/object-digests.ts';
import { imageFolder, masterKey, videoFolder, videoKey } from '#domain/media/object-keys.ts';
import { withDigests } from './object-digests.ts';

const rev = '0123456789abcdef';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** A bucket; `reads` has the keys that were read. */
function bucketOf(objects: Readonly<Record<string, string>>) {
  const reads: string[] = [];
  const infoOf = (key: string) => ({
    key,
    sizeBytes: objects[key]?.length ?? 0,
    etag: `"${sha256(objects[key] ?? '').slice(0, 8)}"`,
    lastModified: new Date(0),
  });
  let readBytes = 0;
  // A few bytes at a time: lines come in pieces.
  function* piecesOf(bytes: Buffer) {
    for (let at = 0; at < bytes.length; at += 7) {
      const piece = bytes.subarray(at, at + 7);
      readBytes += piece.length;
      yield piece;
    }
  }
  const get = async (key: string, { range }: { range?: { start: number; end?: number } } = {}) => {
    reads.push(key);
    const text = objects[key];
    if (text === undefined) return null;
    const bytes = Buffer.from(text).subarray(range?.start ?? 0, (range?.end ?? text.length) + 1);
    return { info: infoOf(key), body: Readable.from(piecesOf(bytes)) };
  };
  const head = async (key: string) => (objects[key] === undefined ? null : infoOf(key));
  const download = async (key: string) => {
    reads.push(key);
    return {
      info: infoOf(key),
      start: ({ onPiece, onEnd }: { onPiece: (piece: never) => void; onEnd: () => void }) => {
        onPiece({ bytes: Buffer.from(objects[key] ?? ''), release: () => undefined } as never);
        onEnd();
      },
    };
  };
  const list = async function* (after = '') {
    for (const key of Object.keys(objects).toSorted()) if (key > after) yield infoOf(key);
  };
  return { store: { get, head, download } as never, list, reads, readBytes: () => readBytes };
}

async function digestsIn(bucket: ReturnType<typeof bucketOf>, after = '') {
  const found: Record<string, string | null> = {};
  for await (const { key, sha256: digest } of withDigests(bucket.store, bucket.list(after), after)) found[key] = digest;
  return found;
}

/** Objects and the documents of their digests. */
function withDocuments(objects: Readonly<Record<string, string>>): Record<string, string> {
  const described = Object.entries(objects).map(([key, text]) => ({ key, size: text.length, sha256: sha256(text) }));
  return { ...objects, ...Object.fromEntries(digestDocuments(described).map(({ key, text }) => [key, text])) };
}

const stream = Object.fromEntries(
  ['10.vtt', 'cover.jpg', 'master.m3u8', ...[1, 2, 10, 11].map((n) => `video/r64_h264/seg_${n}.m4s`)].map((path) => [
    videoKey('m', rev, path),
    `bytes of ${path}`,
  ]),
);

const segmentKey = (n: number) => videoKey('m', rev, `video/r64_h264/seg_${String(n).padStart(4, '0')}.m4s`);
const many = withDocuments(Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [segmentKey(n), `bytes ${n}`])));

describe('digests of a listing', () => {
  it('every object of a revision has the digest of its bytes, and so have its document and the master', async () => {
    const image = { [`${imageFolder('m', rev)}thumb.webp`]: 'RIFF' };
    const objects = { ...withDocuments({ ...stream, ...image }), [masterKey('m')]: '#EXTM3U' };
    const found = await digestsIn(bucketOf(objects));
    expect(found).toEqual(Object.fromEntries(Object.entries(objects).map(([key, text]) => [key, sha256(text)])));
  });

  it('a document is read once, and again for a page that begins inside of its revision', async () => {
    const bucket = bucketOf(withDocuments(stream));
    const after = videoKey('m', rev, 'video/r64_h264/seg_10.m4s');
    expect(Object.values(await digestsIn(bucket, after))).toEqual(
      ['11', '2'].map((n) => sha256(`bytes of video/r64_h264/seg_${n}.m4s`)),
    );
    expect(bucket.reads).toEqual([digestsKey(videoFolder('m', rev))]);
  });

  it.each(['0001', '1234', '9997'])(
    'a page after object %s of 10,000 reads less than a tenth of their document',
    async (name) => {
      const bucket = bucketOf(many);
      const first = Number(name) + 1;
      const page: unknown[] = [];
      for await (const object of withDigests(bucket.store, bucket.list(segmentKey(first - 1)), segmentKey(first - 1))) {
        page.push([object.key, object.sha256]);
        if (page.length === 2) break;
      }
      expect(page).toEqual([first, first + 1].map((n) => [segmentKey(n), sha256(`bytes ${n}`)]));
      expect(bucket.readBytes()).toBeLessThan((many[digestsKey(videoFolder('m', rev))] ?? '').length / 10);
    },
  );

  it('what no document names is null: an earlier version, a cached thumbnail, a broken document', async () => {
    const [seg = '', ...rest] = Object.keys(stream).toReversed();
    const partial = withDocuments(Object.fromEntries(rest.map((key) => [key, stream[key] ?? ''])));
    expect((await digestsIn(bucketOf({ ...partial, [seg]: 'later' })))[seg]).toBeNull();
    expect(Object.values(await digestsIn(bucketOf(stream)))).toEqual(Object.keys(stream).map(() => null));
    const cached = 'cache/thumb/ab/m/x.webp';
    expect(await digestsIn(bucketOf({ [cached]: 'x' }))).toEqual({ [cached]: null });
    const document = digestsKey(videoFolder('m', rev));
    const { [document]: own, ...others } = await digestsIn(bucketOf({ ...stream, [document]: 'x'.repeat(5_000) }));
    expect([own, new Set(Object.values(others))]).toEqual([sha256('x'.repeat(5_000)), new Set([null])]);
  });
});
