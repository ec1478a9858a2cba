import { expect, it } from 'vitest';
import * as keys from './object-keys.ts';

const { imageKey, masterKey, revisionOf, videoKey } = keys;

it('C27.5: every attempt of every job has a revision of its own, the same whenever it is asked for', () => {
  const jobs = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
  const revisions = jobs.flatMap((job) => [1, 2, 3].map((attempt) => revisionOf(job, attempt)));
  expect(new Set(revisions).size).toBe(6);
  for (const revision of revisions) expect(revision).toMatch(/^[0-9a-f]{16}$/);
  expect(revisionOf(jobs[0] ?? '', 1)).toBe(revisions[0]);
});

it('C27.5: objects of an attempt lie below its revision, and the top master playlist alone lies beside it', () => {
  const revision = revisionOf('00000000-0000-4000-8000-000000000001', 1);
  const root = masterKey('movie').replace('/master.m3u8', '');
  expect(videoKey('movie', revision, 'cover.jpg')).toBe(`${root}/${revision}/cover.jpg`);
  expect(imageKey('movie', revision, { variant: 'thumb', format: 'webp' })).toBe(
    `${root.replace('videos', 'images')}/${revision}/thumb.webp`,
  );
});

const rev = '0123456789abcdef';

it('working objects lie below the job or the revision that they are of', () => {
  expect([
    keys.workRoot('j'),
    keys.resultManifestKey('j', 2),
    keys.splitKey('j'),
    keys.splitImagesKey('j'),
    keys.chunkedRoot(rev),
    keys.encodePlanKey(rev),
    keys.chunkSourceKey(rev, 3),
    keys.chunkResultKey(rev, 3),
    keys.chunkResultKey(rev, 'audio'),
    keys.chunkResultsRoot(rev),
  ]).toEqual([
    'work/j',
    'work/j/2/result.json',
    'work/j/split.json',
    'work/j/images.json',
    `work/${rev}`,
    `work/${rev}/plan.json`,
    `work/${rev}/sources/3.nut`,
    `work/${rev}/results/3.json`,
    `work/${rev}/results/audio.json`,
    `work/${rev}/results/`,
  ]);
});

it.each([
  [masterKey('movie'), { top: true, below: false, work: false }],
  [videoKey('movie', rev, 'master.m3u8'), { top: false, below: true, work: false }],
  ['videos/ab/movie/0123456789abcdef/video/r64/seg_1.m4s', { top: false, below: true, work: false }],
  ['videos/ab/movie/master.m3u8.bak', { top: false, below: false, work: false }],
  ['x/videos/ab/movie/master.m3u8', { top: false, below: false, work: false }],
  ['videos/ab/a/b/master.m3u8', { top: false, below: false, work: false }],
  ['videos/ab/movie/0123456789abcde/x', { top: false, below: false, work: false }],
  ['images/ab/movie/0123456789abcdef/x', { top: false, below: false, work: false }],
  ['work/j/split.json', { top: false, below: false, work: true }],
  ['x/work/', { top: false, below: false, work: false }],
])('the key %s is %o', (key, { top, below, work }) => {
  expect([keys.isTopMaster(key), keys.isBelowRevision(key), keys.isWorkKey(key)]).toEqual([top, below, work]);
});

const read = (text: string | null) => (key: string) => Promise.resolve(key === masterKey('movie') ? text : 'other');

it('the current revision is the one that the top master names, and none without it', async () => {
  expect(await keys.currentRevision('movie', read(`#EXTM3U\n${rev}/video/playlist.m3u8\n`))).toBe(rev);
  expect(await keys.currentRevision('movie', read('#EXTM3U\n'))).toBeNull();
  expect(await keys.currentRevision('movie', read(null))).toBeNull();
});
