import { expect, it } from 'vitest';
import { imageKey, masterKey, revisionOf, videoKey } from './object-keys.ts';

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
