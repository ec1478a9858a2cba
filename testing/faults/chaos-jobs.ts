import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobType } from '#domain/job-types/index.ts';
import * as callers from './callers.ts';
import { cutImage, importedImage, missingImage, slowImage } from './files.ts';
import { pick, type Random } from './random.ts';
import { brokenSource, smallImage } from './sources.ts';
import { newHash, type World } from './world.ts';

// What callers do meanwhile: submit one by one and in batches, submit the same again, cancel, retry, make again, ask
// for a webhook again, upload, import, and delete.

/** Kinds of jobs; small ones are more frequent, so that a run has many. */
const kinds: readonly { readonly type: JobType; readonly source: string; readonly options?: object }[] = [
  ...Array.from({ length: 8 }, () => ({ type: 'image:thumbnail', source: 'image' }) as const),
  { type: 'video:cover', source: 'clip' },
  { type: 'video:cover', source: brokenSource },
  { type: 'video:preview', source: 'clip' },
  { type: 'video:transcode', source: 'clip' },
  { type: 'video:transcode', source: 'clip', options: { encrypt: true } },
  { type: 'video:full', source: 'clip', options: { transcode: { encrypt: true } } },
  { type: 'video:transcode', source: 'long', options: { encrypt: true } },
];

/** More than this number of jobs at once would only wait. */
const activeMax = 10;

interface Deed {
  readonly world: World;
  readonly random: Random;
  /** Until a moment between 0 and 20 s, `endAt` at the latest. */
  readonly later: (share: number) => Promise<void>;
  /** Notes a job that was accepted, and that the checker is to look at. */
  readonly note: (id: string) => void;
  /** The media of the job before, of which another stream may be made; never one that is deleted. */
  readonly last: { hash: string };
}

async function submit({ world, random, later, note, last }: Deed): Promise<void> {
  const { type, source, options = {} } = pick(random, kinds);
  // A tenth are other streams of the last media.
  if (random() > 0.1 || last.hash === '') last.hash = newHash();
  const more = { hash: last.hash, options };
  const [isTwice, after] = [random() < 0.1, random()];
  const accepted = await Promise.all((isTwice ? [1, 2] : [1]).map(() => world.submit(type, source, more)));
  accepted.forEach(note);
  const [id = ''] = accepted;
  await later(after);
  if (after < 0.06) await world.insist('POST', `/api/jobs/${id}/cancel`);
  else if (after > 0.9) await world.insist('POST', `/api/jobs/${id}/callbacks/redeliver`);
  else if (after > 0.8) await Promise.all([1, 2].map(async () => note(await callers.rerun(world, id))));
  else if (after > 0.5) {
    const { body } = await world.insist('POST', `/api/jobs/${id}/retry`);
    const { jobs = [] } = body as { readonly jobs?: readonly { readonly job_id: string }[] };
    for (const { job_id: retry } of jobs) note(retry);
  }
}

async function submitBatch({ world, random, note }: Deed): Promise<void> {
  const jobs = Array.from({ length: 3 }, () => {
    const { type, source, options = {} } = pick(random, kinds.slice(0, 10));
    return { type, hash: newHash(), source, options, callback_url: world.receiver.url };
  });
  // The last two are equal.
  for (const id of await callers.submitBatch(world, [...jobs, ...jobs.slice(-1)])) note(id);
}

async function upload({ world, random, later, note }: Deed): Promise<void> {
  const bytes = await readFile(await smallImage());
  const begun = await callers.beginUpload(world, bytes);
  const end = random();
  if (end < 0.2) return;
  await callers.putPart(world, begun, bytes);
  await later(end / 4);
  if (end < 0.4) return void (await world.insist('DELETE', `/api/uploads/${begun.upload_id}`));
  if ((await callers.completeUpload(world, begun)) === 200) note(await world.submit('image:thumbnail', begun.source));
}

async function fetchFile({ world, random, later, note }: Deed): Promise<void> {
  const name = pick(random, [importedImage, importedImage, cutImage, slowImage, missingImage]);
  const begun = await callers.beginImport(world, name);
  if (name === slowImage) {
    await later(random() / 10);
    return void (await world.insist('DELETE', `/api/imports/${begun.import_id}`));
  }
  const status = await callers.importEnded(world, begun);
  if (status === 'completed') note(await world.submit('image:thumbnail', begun.source));
}

async function deleteMedia({ world, random, later }: Deed): Promise<void> {
  const { type, source, options = {} } = pick(random, kinds);
  const hash = newHash();
  await world.submit(type, source, { hash, options });
  await later(random());
  await callers.beginDeletion(world, hash);
}

const deeds: readonly ((deed: Deed) => Promise<void>)[] = [
  ...Array.from({ length: 12 }, () => submit),
  submitBatch,
  upload,
  fetchFile,
  deleteMedia,
  deleteMedia,
];

/** Submits until `endAt`. @returns the ids of the jobs that were accepted, without jobs of deleted media */
export async function submitForever(
  world: World,
  { random, endAt }: { readonly random: Random; readonly endAt: number },
): Promise<Set<string>> {
  const ids = new Set<string>();
  const pending = new Set<Promise<void>>();
  const later = (share: number) =>
    sleep(Math.min(share * 20_000, Math.max(0, endAt - Date.now()))).then(() => undefined);
  const given: Deed = { world, random, later, note: (id) => void ids.add(id), last: { hash: '' } };
  while (Date.now() < endAt) {
    if ((await activeJobs(world)) < activeMax) {
      const act = pick(random, deeds);
      const one = act(given)
        .catch(() => undefined)
        .finally(() => pending.delete(one));
      pending.add(one);
    }
    await sleep(300 + random() * 1_200);
  }
  await Promise.all(pending);
  return ids;
}

/** More than the most while the database does not answer. */
async function activeJobs({ database }: World): Promise<number> {
  const text = `select count(*)::int as count from jobs where status in ('queued', 'processing')`;
  const answer = await database.pool.query<{ count: number }>(text).catch(() => null);
  return answer?.rows[0]?.count ?? activeMax;
}
