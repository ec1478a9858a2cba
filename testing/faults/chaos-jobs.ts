import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobType } from '#domain/job-types/index.ts';
import { pick, type Random } from './random.ts';
import { brokenSource } from './sources.ts';
import type { World } from './world.ts';

// What callers do meanwhile: submit, submit the same again, cancel, retry, and ask for a webhook again.

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

/** Submits until `endAt`. @returns the ids of the jobs that were accepted */
export async function submitForever(
  world: World,
  { random, endAt }: { readonly random: Random; readonly endAt: number },
): Promise<Set<string>> {
  const ids = new Set<string>();
  const pending = new Set<Promise<void>>();
  let hash = '';
  const submit = async (): Promise<void> => {
    const { type, source, options = {} } = pick(random, kinds);
    // A tenth are other streams of the last media.
    if (random() > 0.1 || hash === '') hash = `media-${randomUUID().slice(0, 8)}`;
    const [isTwice, after] = [random() < 0.1, random()];
    const more = { hash, options };
    const accepted = await Promise.all((isTwice ? [1, 2] : [1]).map(() => world.submit(type, source, more)));
    for (const id of accepted) ids.add(id);
    const [id = ''] = accepted;
    await sleep(Math.min(after * 20_000, Math.max(0, endAt - Date.now())));
    if (after < 0.06) await world.insist('POST', `/api/jobs/${id}/cancel`);
    else if (after > 0.9) await world.insist('POST', `/api/jobs/${id}/callbacks/redeliver`);
    else if (after > 0.5) {
      const { body } = await world.insist('POST', `/api/jobs/${id}/retry`);
      const { jobs = [] } = body as { readonly jobs?: readonly { readonly job_id: string }[] };
      for (const { job_id: retry } of jobs) ids.add(retry);
    }
  };
  while (Date.now() < endAt) {
    if ((await activeJobs(world)) < activeMax) {
      const one = submit()
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
