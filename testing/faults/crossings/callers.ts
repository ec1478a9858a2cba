import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '#domain/jobs/job.ts';
import type { Submission } from '#domain/jobs/submission.ts';
import { rolloutRequestSchema } from '#domain/rollouts/rollout.ts';
import { publishRevision } from '#jobs/completion/publish-revision.ts';
import { deleteMedia } from '#jobs/delete-media.ts';
import { changeRollout } from '#jobs/rollouts/change-rollout.ts';
import { createRollout } from '#jobs/rollouts/create-rollout.ts';
import type { Choices } from '#jobs/submission/choices.ts';
import { cancelJob } from '#jobs/submission/cancel.ts';
import { rerunJob } from '#jobs/submission/rerun.ts';
import { retryJob } from '#jobs/submission/retry.ts';
import { submitJob } from '#jobs/submission/submit.ts';
import { pick, type Random } from '../random.ts';
import { type Ground, sources } from './ground.ts';
import type { History } from './history.ts';

// What callers do to the media of a round, many of them at once on the same few hashes.

/** A round: its media, and what callers and workers know of them. */
export interface Scene {
  readonly ground: Ground;
  readonly history: History;
  readonly random: Random;
  readonly hashes: readonly string[];
  /** Media that callers leave alone from now on: their deletion was the last word. */
  readonly closed: Set<string>;
  /** The ids of the jobs of each media. */
  readonly jobs: Map<string, string[]>;
  /** The job of each revision that an attempt has written. */
  readonly revs: Map<string, string>;
  readonly rollouts: string[];
  isOver: boolean;
}

const hourMs = 3_600_000;
/** The API keys that ask; their usage is counted apart. */
const keys = ['first', 'second', 'third'];

type Act = (scene: Scene, hash: string) => Promise<unknown>;

type Acts = readonly (readonly [weight: number, act: Act])[];

const everything: Acts = [
  [24, submitOne],
  [14, rerun],
  [12, publish],
  [2, remove],
  [8, expire],
  [7, hold],
  [7, describe],
  [5, cancel],
  [8, retry],
  [6, rollOut],
  [3, changeARollout],
];
/** A media that is deleted and asked for again and again. */
const takedowns: Acts = [
  [30, submitOne],
  [30, retry],
  [5, remove],
  [5, rerun],
  [5, describe],
];
/** A media that rollouts and people make again, and of which little is submitted. */
const campaigns: Acts = [
  [3, submitOne],
  [40, rerun],
  [30, rollOut],
  [5, changeARollout],
  [2, publish],
];

/** The acts on each media of a round, by its place among them. */
const actsOf: readonly Acts[] = [everything, everything, everything, takedowns, campaigns];

/** Does one thing after another to media by chance until the round is over. */
export async function call(scene: Scene): Promise<void> {
  const { random, hashes, closed } = scene;
  while (!scene.isOver) {
    const hash = pick(random, hashes);
    const act = chosen(actsOf[hashes.indexOf(hash)] ?? everything, random);
    if (closed.has(hash)) await sleep(5);
    else await act(scene, hash).catch(() => undefined);
    await sleep(random() * 40);
  }
}

function chosen(acts: Acts, random: Random): Act {
  let left = random() * acts.reduce((sum, [weight]) => sum + weight, 0);
  return acts.find(([weight]) => (left -= weight) < 0)?.[1] ?? rerun;
}

function requestOf({ random }: Scene, hash: string): Submission {
  const options = { encrypt: random() < 0.5 };
  return { type: 'video:transcode', hash, source: pick(random, sources), options, callbackUrl: null };
}

async function submitOne(scene: Scene, hash: string): Promise<void> {
  const { ground, history, jobs } = scene;
  const submission = requestOf(scene, hash);
  const { source, options } = submission;
  const deed = { kind: 'accept', hash, what: `submit ${source} ${JSON.stringify(options)}` } as const;
  const keyId = pick(scene.random, keys);
  const submit = (choices: Choices) =>
    history.note(deed, () => submitJob(ground.d, submission, null, { keyId, ...choices }), acceptedOf);
  const outcome = await (scene.random() < 0.2 ? titled(scene, hash, (title) => submit({ title })) : submit({}));
  if (outcome.isNew) jobs.get(hash)?.push(outcome.job.id);
}

/** Says a title that nobody has said before; `work` is false where it is not said. */
async function titled<Result>(
  { history, random }: Scene,
  hash: string,
  work: (title: string) => Promise<Result>,
): Promise<Result> {
  const title = `title ${Math.floor(random() * 1e9)}`;
  const deed = { kind: 'describe', hash, what: title } as const;
  return history.note(
    deed,
    () => work(title),
    (result) => (result === false ? null : { title, byJob: typeof result !== 'boolean' }),
  );
}

async function describe(scene: Scene, hash: string): Promise<void> {
  await titled(scene, hash, (title) => scene.ground.d.library.change(hash, { title }));
}

const acceptedOf = ({ job, isNew }: { readonly job: Job; readonly isNew: boolean }) => ({
  jobId: job.id,
  isNew,
  rerunOf: job.rerunOfJobId,
  replaces: null,
});

function aJob({ random, jobs }: Scene, hash: string): string | undefined {
  const known = jobs.get(hash) ?? [];
  // The last ones more often: they are the ones that run.
  return random() < 0.7 ? known.at(-1 - Math.floor(random() * 4)) : known[Math.floor(random() * known.length)];
}

async function rerun(scene: Scene, hash: string): Promise<void> {
  const { ground, history, jobs } = scene;
  const id = aJob(scene, hash);
  if (id === undefined) return;
  const deed = { kind: 'accept', hash, what: `rerun ${id}` } as const;
  const made = await history.note(deed, () => rerunJob(ground.d, id, { rerun: {}, trace: null }), acceptedOf);
  if (made.isNew) jobs.get(hash)?.push(made.job.id);
}

async function retry(scene: Scene, hash: string): Promise<void> {
  const { ground, history, jobs } = scene;
  const id = aJob(scene, hash);
  if (id === undefined) return;
  const deed = { kind: 'accept', hash, what: `retry ${id}` } as const;
  const factsOf = ([job]: readonly Job[]) =>
    job === undefined ? null : acceptedOf({ job, isNew: job.retryOfJobId === id });
  const [job] = await history.note(deed, () => retryJob(ground.d, id, null), factsOf);
  if (job !== undefined) jobs.get(hash)?.push(job.id);
}

async function publish({ ground, history, random, revs, jobs }: Scene, hash: string): Promise<void> {
  const known = new Set(jobs.get(hash));
  const own = [...revs].filter(([, jobId]) => known.has(jobId));
  if (own.length === 0) return;
  const [rev, jobId] = pick(random, own);
  const deed = { kind: 'publish', hash, what: `current ${rev}` } as const;
  await history.note(
    deed,
    () => publishRevision(ground.d, { hash, rev }),
    () => ({ jobId, undoes: null }),
  );
}

const purgeIn = `
  select extract(epoch from next_attempt_at - clock_timestamp())::float8 * 1000 as ms from webhook_events
  where job_id is null and strpos(body, $1) > 0 order by created_at desc limit 1`;

/** How soon the CDN is asked to forget a media, whose deletion has just begun. */
export async function purgeInMs({ ground }: Scene, hash: string): Promise<number | null> {
  const { rows } = await ground.watching.pool.query<{ ms: number }>(purgeIn, [`${hash}"`]);
  return rows[0] === undefined ? null : Math.round(rows[0].ms);
}

export async function remove(scene: Scene, hash: string): Promise<void> {
  const { ground, history } = scene;
  let inMs: number | null = null;
  // At once: whoever cancels the jobs of the media may be frozen for longer than the CDN waits.
  const begin: typeof ground.d.deletions.begin = async (given) => {
    const begun = await ground.d.deletions.begin(given);
    if (begun?.isNew === true) inMs = await purgeInMs(scene, hash);
    return begun;
  };
  const deletions = replaced(ground.d.deletions, { begin });
  await history.note(
    { kind: 'delete', hash, what: 'delete' },
    () => deleteMedia({ ...ground.d, deletions }, { hash, reason: 'request' }),
    ({ isNew }) => ({ isNew, isByTime: false, purgeInMs: isNew ? inMs : null }),
  );
}

async function expire({ ground, history, random }: Scene, hash: string): Promise<void> {
  const at = random() < 0.3 ? Date.now() - 1_000 : pick(random, [Date.now() + hourMs, null]);
  const deed = { kind: 'expire', hash, what: at === null ? 'never' : at < Date.now() ? 'now' : 'later' } as const;
  const expiresAt = at === null ? null : new Date(at);
  await history.note(
    deed,
    () => ground.d.library.change(hash, { expiresAt }),
    (isKnown) => (isKnown ? { at } : null),
  );
}

async function hold({ ground, history, random }: Scene, hash: string): Promise<void> {
  // Held for a part of the time, or nothing would be deleted.
  const isHeld = random() < 0.35;
  const deed = { kind: 'hold', hash, what: isHeld ? 'hold' : 'no hold' } as const;
  await history.note(
    deed,
    () => ground.d.library.change(hash, { legalHold: isHeld }),
    (isKnown) => (isKnown ? { isHeld } : null),
  );
}

async function cancel(scene: Scene, hash: string): Promise<void> {
  const jobId = aJob(scene, hash);
  if (jobId === undefined) return;
  const deed = { kind: 'cancel', hash, what: jobId } as const;
  await scene.history.note(
    deed,
    () => cancelJob(scene.ground.d, jobId),
    () => ({ jobId }),
  );
}

/** More of them than this would only wait for each other. */
const rolloutsMax = 10;

async function rollOut({ ground, random, rollouts }: Scene, hash: string): Promise<void> {
  if (rollouts.length >= rolloutsMax) return;
  const profile = pick(random, ['small', 'other']);
  const spec = rolloutRequestSchema.parse({ to_profile: profile, which: { hash_prefix: hash } });
  const made = await createRollout(ground.d, { id: randomUUID(), spec }).catch(() => undefined);
  if (made !== undefined) rollouts.push(made.rollout.id);
}

async function changeARollout({ ground, random, rollouts }: Scene): Promise<void> {
  const id = rollouts.at(-1 - Math.floor(random() * 3));
  if (id === undefined) return;
  await changeRollout(ground.d.rollouts, id, random() < 0.7 ? 'rollback' : 'cancel').catch(() => undefined);
}

/** The object with some methods replaced. */
export function replaced<Target extends object>(target: Target, by: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(by, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
