import { afterAll, beforeAll, expect, it } from 'vitest';
import { chunkResultKey, splitKey } from '#domain/media/object-keys.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Jobs": `GET /api/jobs/{id}/chunks`.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
  await api.putSource('long.mp4', 'x');
});
afterAll(() => api.close());

it('C13.40: `GET /api/jobs/{id}/chunks` says which chunks are encoded, and null for a job in one piece', async () => {
  const submitted = async (type: string) =>
    (await api.submit({ type, hash: 'long', source: 'long.mp4' })).json.job_id as string;
  const [id, cover] = [await submitted('video:transcode'), await submitted('video:cover')];
  const chunksOf = async (job: string) => (await api.call(`/api/jobs/${job}/chunks`)).json;
  expect(await chunksOf(id)).toEqual({ job_id: id, chunks: null });
  const rev = '0123456789abcdef';
  const split = JSON.stringify({ v: 1, rev, chunk_frames: [150, 150, 90] });
  for (const job of [id, cover]) await api.putMedia(splitKey(job), split);
  for (const chunk of [0, 2, 'audio'] as const) await api.putMedia(chunkResultKey(rev, chunk), '{}');
  expect((await chunksOf(id)).chunks).toEqual([
    { frames: 150, finished: true },
    { frames: 150, finished: false },
    { frames: 90, finished: true },
  ]);
  expect((await chunksOf(cover)).chunks).toBeNull();
  await api.putMedia(splitKey(id), '{');
  expect((await chunksOf(id)).chunks).toBeNull();
  expect((await api.call('/api/jobs/00000000-0000-4000-8000-000000000000/chunks')).status).toBe(404);
  expect((await api.call(`/api/jobs/${id}/chunks`, { headers: { 'x-api-key': 'another' } })).status).toBe(401);
});
