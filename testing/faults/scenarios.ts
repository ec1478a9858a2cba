import { setTimeout as sleep } from 'node:timers/promises';
import { brokenSource } from './sources.ts';
import type { World } from './world.ts';

// What callers do. Each scenario says which jobs it made; the replay knows nothing else of it.

/** @returns the ids of the jobs that were accepted */
export type Scenario = (world: World) => Promise<string[]>;

const encrypted = { options: { encrypt: true } };

/** Long enough for each timer; the rest of a run is over when its fault has happened and everything answers. */
export const idle: Scenario = async (world) => {
  const isOver = () => world.hasFired() && Date.now() - startedAt > 1_000;
  const startedAt = Date.now();
  while (Date.now() - startedAt < 7_000 && !isOver()) await sleep(50);
  await Promise.all(world.processes.map((process) => process.isThere()));
  return [];
};

export const scenarios: Readonly<Record<string, Scenario>> = {
  'no job': idle,
  'an image': async (world) => [await world.submit('image:thumbnail', 'image')],
  'a cover': async (world) => [await world.submit('video:cover', 'clip')],
  'a preview': async (world) => [await world.submit('video:preview', 'clip')],
  'an encrypted stream': async (world) => [await world.submit('video:transcode', 'clip', encrypted)],
  'a video in full': async (world) => [await world.submit('video:full', 'clip')],
  'an encrypted stream in chunks': async (world) => [await world.submit('video:transcode', 'long', encrypted)],
  'equal submissions at once': async (world) => {
    const hash = `equal-${Date.now()}`;
    const ids = await Promise.all([1, 2, 3].map(() => world.submit('video:cover', 'clip', { hash })));
    return [...new Set(ids)];
  },
  'a cancelled job': async (world) => {
    const id = await world.submit('video:transcode', 'clip');
    while ((await world.status(id)) === 'queued') await sleep(20);
    await world.insist('POST', `/api/jobs/${id}/cancel`);
    return [id];
  },
  'a retry of a failed job': async (world) => {
    const id = await world.submit('video:cover', brokenSource);
    while (!['failed', 'completed'].includes((await world.status(id)) ?? '')) await sleep(50);
    const { body } = await world.insist('POST', `/api/jobs/${id}/retry`);
    const { jobs = [] } = body as { readonly jobs?: readonly { readonly job_id: string }[] };
    return [id, ...jobs.map(({ job_id: retry }) => retry)];
  },
  'a webhook that is sent again': async (world) => {
    const id = await world.submit('image:thumbnail', 'image');
    await world.settle();
    await world.insist('POST', `/api/jobs/${id}/callbacks/redeliver`);
    return [id];
  },
  'a stream that is replaced': async (world) => {
    const hash = `replaced-${Date.now()}`;
    const first = await world.submit('video:full', 'clip', { hash });
    await world.settle();
    const second = await world.submit('video:transcode', 'clip', { hash, ...encrypted });
    return [first, second];
  },
  retention: async (world) => {
    const hash = `old-${Date.now()}`;
    await world.submit('video:transcode', 'clip', { hash });
    await world.settle();
    await world.submit('video:transcode', 'clip', { hash, ...encrypted });
    await world.settle();
    await world.cleanUp();
    await world.expire();
    // Nothing is left of them that could be checked one by one.
    return [];
  },
  cleanup: async (world) => {
    const id = await world.submit('video:transcode', 'long');
    await world.settle();
    await world.cleanUp();
    return [id];
  },
};
