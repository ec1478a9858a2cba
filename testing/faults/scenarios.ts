import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../controller-rig.ts';
import * as callers from './callers.ts';
import { cutImage, importedImage, missingImage, slowImage } from './files.ts';
import { brokenSource, smallImage, shortClip } from './sources.ts';
import { announcedPrefix, newHash, type World } from './world.ts';

// What callers do. Each scenario says which jobs it made; the replay knows nothing else of it.

/** @returns the ids of the jobs that were accepted */
export type Scenario = (world: World) => Promise<string[]>;

const encrypted = { options: { encrypt: true } };

/** The SHA-256 of nothing that is uploaded. */
const noDigest = '0'.repeat(64);

/** Long enough for each timer; another run ends when its fault has happened and everything answers. */
export const idle: Scenario = async (world) => {
  const hasEnded = () => world.hasFired() && Date.now() - startedAt > 1_000;
  const startedAt = Date.now();
  while (Date.now() - startedAt < 7_000 && !hasEnded()) await sleep(50);
  await Promise.all(world.processes.map((process) => process.isThere()));
  return [];
};

/** Three media are made again by another profile. The jobs that made them before are among the ids. */
export async function rolledOut(world: World, spec: object): Promise<string[]> {
  const prefix = `rolled-${Date.now()}-`;
  const ids = await Promise.all([1, 2, 3].map((n) => world.submit('video:transcode', 'clip', { hash: prefix + n })));
  await world.settle();
  await world.insist('POST', '/api/rollouts', { which: { hash_prefix: prefix }, to_profile: 'mobile', ...spec });
  // A request that is repeated for want of an answer makes another rollout.
  const unfinished = 'select 1 from rollouts where finished_at is null';
  for (const deadline = Date.now() + 120_000; (await world.database.pool.query(unfinished)).rowCount !== 0;) {
    if (Date.now() > deadline) throw new Error('the rollout has not ended');
    await sleep(200);
  }
  const reruns = 'select id from jobs where hash like $1 and rerun_of_job_id is not null';
  const { rows } = await world.database.pool.query<{ id: string }>(reruns, [`${prefix}%`]);
  return [...ids, ...rows.map(({ id }) => id)];
}

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
  'a rerun': async (world) => {
    const id = await world.submit('video:full', 'clip');
    await world.settle();
    return [id, ...new Set(await Promise.all([callers.rerun(world, id), callers.rerun(world, id)]))];
  },
  'a batch': async (world) => {
    const [callback, equal] = [{ callback_url: world.receiver.url }, { hash: newHash(), source: 'clip' }];
    const ids = await callers.submitBatch(world, [
      { type: 'image:thumbnail', hash: newHash(), source: 'image', options: {}, ...callback },
      { type: 'video:cover', options: {}, ...equal, ...callback },
      { type: 'video:cover', options: {}, ...equal, ...callback },
      { type: 'video:cover', hash: newHash(), source: 'missing', options: {}, ...callback },
    ]);
    if (ids.length !== 2) throw new Error(`two jobs of a batch were expected: ${ids.join(', ')}`);
    return ids;
  },
  'several receivers': async (world) => {
    const hash = newHash();
    const receivers = ['', 'second', 'third'];
    const ids: string[] = [];
    for (const receiver of receivers) ids.push(await world.submit('video:transcode', 'clip', { hash, receiver }));
    return [...new Set(ids)];
  },
  'an upload': async (world) => {
    const source = await callers.uploadFile(world, await readFile(await smallImage()));
    return [await world.submit('image:thumbnail', source)];
  },
  'uploads that do not complete': async (world) => {
    const bytes = await readFile(await smallImage());
    const [deleted, wrong] = [
      await callers.beginUpload(world, bytes),
      await callers.beginUpload(world, bytes, noDigest),
    ];
    await callers.putPart(world, deleted, bytes);
    await world.insist('DELETE', `/api/uploads/${deleted.upload_id}`);
    await callers.putPart(world, wrong, bytes);
    const status = await callers.completeUpload(world, wrong);
    if (status < 400) throw new Error(`an upload of another digest was answered ${status}`);
    await callers.putPart(world, await callers.beginUpload(world, bytes), bytes);
    await callers.expireUploads(world);
    return [];
  },
  'an import': async (world) => {
    const imports = [importedImage, cutImage].map((name) => callers.beginImport(world, name));
    const ids: string[] = [];
    for (const begun of await Promise.all(imports)) {
      const status = await callers.importEnded(world, begun);
      if (status !== 'completed') throw new Error(`an import has ${status}`);
      ids.push(await world.submit('image:thumbnail', begun.source));
    }
    await callers.cleanUpImports(world);
    return ids;
  },
  'imports that do not complete': async (world) => {
    const wrong = await callers.beginImport(world, importedImage, noDigest);
    const missing = await callers.beginImport(world, missingImage);
    const cancelled = await callers.beginImport(world, slowImage);
    await until(
      async () => (await world.insist('GET', `/api/imports/${cancelled.import_id}`)).body.status,
      (status) => status !== 'queued',
      60_000,
    );
    await world.insist('DELETE', `/api/imports/${cancelled.import_id}`);
    for (const begun of [wrong, missing]) {
      const status = await callers.importEnded(world, begun);
      if (status !== 'failed') throw new Error(`an import that cannot complete has ${status}`);
    }
    await callers.cleanUpImports(world);
    return [];
  },
  'an object that its bucket announces': async (world) => {
    const key = `${announcedPrefix}${newHash()}.mp4`;
    await world.addSource(key, await shortClip());
    const ids = (await Promise.all([1, 2].map(() => callers.announce(world, key, 'first')))).flat();
    await world.settle();
    return [...new Set([...ids, ...(await callers.announce(world, key, 'first'))])];
  },
  'a deleted media': async (world) => {
    const hash = newHash();
    await world.submit('video:full', 'clip', { hash, options: { transcode: { encrypt: true } } });
    await world.settle();
    await world.submit('video:transcode', 'clip', { hash });
    await callers.deleteMedia(world, hash);
    // Its jobs have no results any more.
    return [];
  },
  'a rollout': (world) => rolledOut(world, { budget: { jobs: 1 }, canary: { share: 0.5 } }),
  'a rollout that is rolled back': async (world) => {
    const ids = await rolledOut(world, { budget: { jobs: 2 }, canary: { share: 1, max_bytes_ratio: 0.001 } });
    const { rows } = await world.database.pool.query('select 1 from rollout_items where status = $1', ['rolled_back']);
    if (rows.length === 0) throw new Error('the canary passed');
    return ids;
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
