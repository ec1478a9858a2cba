import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import {
  chunkResultKey,
  chunkSourceKey,
  encodePlanKey,
  resultManifestKey,
  splitImagesKey,
  splitKey,
} from '#domain/media/object-keys.ts';
import type { UnitKind } from '#domain/work/unit.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { nextUnits, readSplitImages } from './next-units.ts';

const images = {
  v: 1,
  artifacts: { cover: { key: 'images/c.jpg', format: 'jpg', size: 1 } },
  errors: { cover: null, preview: jobErrorOf('internal', 1) },
  warnings: [],
  objects: Array.from({ length: 16 }, (_, n) => ({ key: `images/${n}.jpg`, size: 1, sha256: 'ab'.repeat(32) })),
};
const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const rev = '0123456789abcdef';
const split = { v: 1, rev, chunk_frames: [150, 150, 90] };
/** The objects that `split` leaves of a source that has three chunks. */
const ofSplit = [
  encodePlanKey(rev),
  chunkResultKey(rev, 'audio'),
  ...[0, 1, 2].map((chunk) => chunkSourceKey(rev, chunk)),
];

let folder = '';
let media: ObjectStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-units-'));
  media = openObjectStore({ bucket: `file:${folder}`, dir: folder });
});
afterEach(async () => {
  await media.close();
  await rm(folder, { recursive: true });
});

async function leave({ isSplit = true, keys = ofSplit }: { isSplit?: boolean; keys?: readonly string[] }) {
  const options = { contentType: 'application/json' };
  if (isSplit) await media.put(splitKey(id), JSON.stringify(split), options);
  for (const key of keys) await media.put(key, '{}', options);
}
const next = (after: UnitKind | null, attempt = 1, type: 'video:transcode' | 'video:cover' = 'video:transcode') =>
  nextUnits({ id, type, attempt }, after, media);
const without = (...missing: string[]) => ofSplit.filter((key) => !missing.includes(key));
const first = { kind: 'split', split: null, chunks: [] };

describe('the units that follow', () => {
  it('a job type that has one unit runs it and no other', async () => {
    expect(await next(null, 1, 'video:cover')).toEqual({ kind: 'whole', split: null, chunks: [] });
    expect(await next('whole', 1, 'video:cover')).toBeNull();
  });

  it('the first attempt of a job that may be split begins with split, whatever is in the bucket', async () => {
    await leave({});
    expect(await next(null)).toEqual(first);
  });

  it('a source that stayed in one piece has no further unit, and a later attempt begins with split', async () => {
    await leave({ isSplit: false, keys: [] });
    expect(await next('split')).toBeNull();
    expect(await next(null, 2)).toEqual(first);
  });

  it('the chunks without a result follow split, and finish follows when every chunk has one', async () => {
    await leave({ keys: [...ofSplit, chunkResultKey(rev, 1)] });
    expect(await next('split')).toEqual({ kind: 'chunk', split, chunks: [0, 2] });
    await leave({ keys: [chunkResultKey(rev, 0), chunkResultKey(rev, 2)] });
    expect(await next('split')).toEqual({ kind: 'finish', split, chunks: [] });
    expect(await next('chunk')).toEqual({ kind: 'finish', split, chunks: [] });
    expect(await next('finish')).toBeNull();
  });

  it('an attempt that begins again is not done by its manifest alone', async () => {
    await leave({ keys: [...ofSplit, resultManifestKey(id, 2)] });
    expect(await next(null, 2)).toEqual({ kind: 'chunk', split, chunks: [0, 1, 2] });
    expect(await next('split', 2)).toBeNull();
  });

  it('a later attempt goes on with the chunks that have no result', async () => {
    await leave({ keys: [...ofSplit, chunkResultKey(rev, 0)] });
    expect(await next(null, 2)).toEqual({ kind: 'chunk', split, chunks: [1, 2] });
  });

  it.each([
    ['the plan', encodePlanKey(rev)],
    ['the audio', chunkResultKey(rev, 'audio')],
    ['the source of a chunk without a result', chunkSourceKey(rev, 2)],
  ])('a later attempt splits again when %s is missing', async (_what, key) => {
    await leave({ keys: without(key) });
    expect(await next(null, 2)).toEqual(first);
  });

  it('a source that stays in one piece now has no chunks, although an earlier attempt had split it', async () => {
    await leave({ keys: without(chunkSourceKey(rev, 2)) });
    expect(await next(null, 2)).toEqual(first);
    await leave({ isSplit: false, keys: [resultManifestKey(id, 2)] });
    expect(await next('split', 2)).toBeNull();
  });

  it('a split document that is larger than any may be is refused unread', async () => {
    await media.put(splitKey(id), ' '.repeat(200_000), { contentType: 'application/json' });
    await expect(next(null, 2)).rejects.toMatchObject({ code: 'limit_exceeded' });
  });
});

const putImages = (text: string) => media.put(splitImagesKey(id), text, { contentType: 'application/json' });

describe('the images that split made', () => {
  it('they are read with a stage each, and are null where there are none', async () => {
    expect(await readSplitImages(id, media)).toBeNull();
    await putImages(JSON.stringify(images));
    expect(await readSplitImages(id, media)).toEqual(images);
  });
});
