import { setTimeout as sleep } from 'node:timers/promises';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import type { Submission } from '#domain/jobs/submission.ts';
import { revisionOfMaster } from '#domain/media/master-playlist.ts';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { changeRollout } from '#jobs/rollouts/change-rollout.ts';
import { submitJob } from '#jobs/submission/submit.ts';
import { textAt } from '../object-invariants.ts';
import { pick, type Random } from '../random.ts';
import { usageOfRows } from '../usage-invariants.ts';
import { call, remove, type Scene } from './callers.ts';
import type { Delivery } from './delivery.ts';
import type { Ground } from './ground.ts';
import { History } from './history.ts';
import { type Found, Model } from './model.ts';
import { Uploads } from './uploads.ts';
import { advance, aRollout, deleteDue, retire, runAttempt, sweep, work } from './workers.ts';

// A round: callers and workers on five media for some seconds, then an end of all that is under way, then the model.

const counts = { hashes: 5, callers: 28, workers: 14, uploads: 6, deletions: 3, rollouts: 3 };
const cleanupGraceMs = 2_000;
const revisionRetentionMs = 500;
/** The time within which all that is under way ends once nobody calls any more, on a busy machine too. */
const settleMs = 180_000;

interface RoundInput {
  readonly ground: Ground;
  readonly delivery: Delivery;
  readonly random: Random;
  /** The beginning of its hashes. */
  readonly name: string;
}

export interface RoundResult {
  /** Each deed by kind and outcome. */
  readonly deeds: readonly string[];
  readonly violations: readonly string[];
  /** Everything that was done to the media of the violations. */
  readonly history: readonly string[];
}

/** @param seconds how long callers call */
export async function runRound({ ground, delivery, random, name }: RoundInput, seconds: number): Promise<RoundResult> {
  const hashes = Array.from({ length: counts.hashes }, (_, index) => `${name}h${index}-`);
  const jobs = new Map(hashes.map((hash) => [hash, [] as string[]]));
  const scene: Scene = {
    ground,
    random,
    hashes,
    jobs,
    history: new History(),
    closed: new Set(),
    revs: new Map(),
    rollouts: [],
    isOver: false,
  };
  const uploads = new Uploads(scene);
  ground.freeze();
  const found = await actAndSettle(scene, { uploads, delivery }, seconds);
  const ofMedia = await Promise.all(hashes.map((hash) => violationsOf(scene, hash, delivery)));
  const violations = [
    ...found,
    ...ofMedia.flat(),
    ...(await uploads.violations()),
    ...(await usageOfRows({ database: ground.watching })),
    ...ground.deadlocks,
  ];
  const wrong = hashes.filter((hash, index) => ofMedia[index]?.length !== 0 || found.join().includes(hash));
  const history = wrong.flatMap((hash) => [`${hash}:`, ...scene.history.linesOf(hash)]);
  return { deeds: scene.history.counts(), violations, history };
}

/** @returns what is wrong while others act, or when not everything ends */
async function actAndSettle(
  scene: Scene,
  { uploads, delivery }: { readonly uploads: Uploads; readonly delivery: Delivery },
  seconds: number,
): Promise<string[]> {
  const { random, ground } = scene;
  const quietMs = pick(random, [0, 0, 1_000, 2_500]);
  const violations: string[] = [];
  const acting = Promise.all([
    ...many(counts.callers, () => call(scene)),
    ...many(counts.workers, () => work(scene)),
    ...many(counts.uploads, () => uploads.call()),
    ...many(counts.deletions, () => again(scene, 50, () => deleteDue(scene, quietMs))),
    ...many(counts.rollouts, () => again(scene, 100, () => advanceAny(scene))),
    again(scene, 150, () => sweep(scene, cleanupGraceMs)),
    again(scene, 200, () => retire(scene, revisionRetentionMs)),
    again(scene, 40, () => lockForAWhile(scene)),
    again(scene, 60, () => lookOn(scene, violations)),
    lastWords(scene, seconds),
  ]);
  await sleep(seconds * 1_000);
  scene.isOver = true;
  ground.thaw();
  await acting;
  await settle(scene).catch((error: unknown) => violations.push(`it does not end: ${String(error)}`));
  await delivery.hasRead(2);
  return [...new Set(violations)];
}

const many = (count: number, act: () => Promise<void>) => Array.from({ length: count }, act);

/** A task of a worker that fails is tried again, as by a controller. */
async function again(scene: Scene, everyMs: number, task: () => Promise<void>): Promise<void> {
  while (!scene.isOver) {
    await task().catch(() => undefined);
    await sleep(scene.random() * 2 * everyMs);
  }
}

async function advanceAny(scene: Scene): Promise<void> {
  const id = aRollout(scene);
  if (id !== undefined) await advance(scene, id);
}

/** Holds the lock of a media, as a publication to a slow bucket does. */
async function lockForAWhile({ ground, random, hashes }: Scene): Promise<void> {
  await holdingLock(ground, pick(random, hashes), () => sleep(random() < 0.8 ? random() * 40 : random() * 400));
}

async function holdingLock(ground: Ground, hash: string, meanwhile: () => Promise<unknown>): Promise<void> {
  await ground.watching.transaction(async (client) => {
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [hash]);
    await meanwhile();
  });
}

/**
 * Deletions after which callers leave a media alone: of two media at some time, and of a third while its lock is held
 * for nearly as long as a statement may wait.
 */
async function lastWords(scene: Scene, seconds: number): Promise<void> {
  const { random, hashes, closed, ground } = scene;
  const end = async (hash: string, afterMs: number) => {
    await sleep(afterMs);
    closed.add(hash);
    await remove(scene, hash).catch(() => undefined);
  };
  const frozenMs = seconds < 12 ? 0 : 7_000 + random() * 2_600;
  await Promise.all([
    end(hashes[0] ?? '', seconds * random() * 900),
    end(hashes[1] ?? '', seconds * (500 + random() * 500)),
    frozenMs > 0 && holdingLock(ground, hashes[2] ?? '', () => sleep(frozenMs)).catch(() => undefined),
    frozenMs > 0 && end(hashes[2] ?? '', 200),
  ]);
}

/** Looks at a media that nothing was done to since its deletion was answered. */
async function lookOn(scene: Scene, violations: string[]): Promise<void> {
  const { history, hashes, random } = scene;
  const hash = pick(random, hashes);
  const model = new Model(history, hash);
  const deletion = model.lastWord(history.now());
  if (deletion === null) return;
  const found = await lookAt(scene, hash);
  if (model.lastWord(deletion.endedAt + 1) !== deletion) return;
  violations.push(...model.afterDeletion(found, deletion));
}

const state = `
  select exists (select from content_keys where hash = $1) as "hasKey",
    exists (select from media_deletions where hash = $1 and lifted_at is null) as "isDeleted",
    coalesce((select legal_hold from media where hash = $1), false) as "isHeld",
    (select extract(epoch from expires_at)::float8 * 1000 from media where hash = $1) as "expiresAt",
    (select title from descriptions where hash = $1) as title`;
const jobsOf = `
  select id, status, source, options, stream_rev is not null and not results_expired as "hasStream",
    stream_rev is not null and replaced_at is null as "isCurrent"
  from jobs where hash = $1`;

interface FoundRow extends Pick<Submission, 'source' | 'options'> {
  readonly id: string;
  readonly status: string;
  readonly hasStream: boolean;
  readonly isCurrent: boolean;
}

async function lookAt({ ground, revs }: Scene, hash: string) {
  const { pool } = ground.watching;
  // The bucket first: what it says of a deleted media counts while the row of the deletion is there.
  const master = await textAt(ground.media, masterKey(hash));
  const { rows } = await pool.query<Pick<Found, 'hasKey' | 'isDeleted' | 'isHeld' | 'expiresAt' | 'title'>>(state, [
    hash,
  ]);
  const rev = master === null ? null : revisionOfMaster(master);
  return { ...(rows[0] as (typeof rows)[0]), rev, playedJob: rev === null ? null : (revs.get(rev) ?? 'unknown') };
}

async function violationsOf(scene: Scene, hash: string, delivery: Delivery): Promise<string[]> {
  const { ground, history } = scene;
  const looked = await lookAt(scene, hash);
  const { rows: jobs } = await ground.watching.pool.query<FoundRow>(jobsOf, [hash]);
  const { rev, playedJob } = looked;
  const keys = rev === null ? [] : ['master.m3u8', 'video/r64_h264/init.mp4'].map((path) => videoKey(hash, rev, path));
  const heads = await Promise.all(keys.map((key) => ground.media.head(key)));
  const played = jobs.find(({ id }) => id === playedJob);
  const model = new Model(history, hash);
  const violations = model.violations({
    ...looked,
    jobs,
    currentJobs: jobs.filter(({ isCurrent }) => isCurrent).map(({ id }) => id),
    isWhole: heads.every((info) => info !== null),
    answering: played === undefined ? null : await answeringOf(ground, hash, played),
  });
  const deletion = model.lastWord();
  if (deletion !== null && !delivery.isDeleted(hash))
    violations.push(`I36: no server has learnt of the deletion of ${hash} at ${deletion.begunAt}`);
  return violations;
}

/** The job that answers an equal submission. */
async function answeringOf({ d }: Ground, hash: string, { source, options }: FoundRow): Promise<string> {
  const submission = { type: 'video:transcode', hash, source, options, callbackUrl: null } as Submission;
  const live = await d.jobs.findLive(idempotencyKey(submission));
  return live?.id ?? (await submitJob(d, submission, null)).job.id;
}

const unended = `
  select (select count(*) from jobs where finished_at is null)::int as jobs,
    (select count(*) from media_deletions where finished_at is null)::int as deletions,
    (select count(*) from rollouts where finished_at is null)::int as rollouts`;

/** Lets all that is under way end: jobs complete, rollouts are cancelled or complete, deletions are carried out. */
async function settle(scene: Scene): Promise<void> {
  const { ground, random, rollouts } = scene;
  const { pool } = ground.watching;
  for (const id of rollouts)
    if (random() < 0.8) await changeRollout(ground.d.rollouts, id, 'cancel').catch(() => undefined);
  for (const givesUpAt = Date.now() + settleMs; ;) {
    await pool.query(`update jobs set lease_expires_at = now() where lease_owner is not null and finished_at is null`);
    await pool.query('update rollout_items set due_at = now() where due_at > now()');
    await sweep(scene, cleanupGraceMs);
    await Promise.all([...ground.tickets.values()].map((ticket) => runAttempt(scene, ticket, random() * 0.8)));
    ground.tickets.clear();
    for (const id of rollouts) await advance(scene, id);
    await deleteDue(scene, 0);
    const { rows } = await pool.query<Record<string, number>>(unended);
    if (Object.values(rows[0] ?? {}).every((count) => count === 0)) return;
    if (Date.now() > givesUpAt) throw new Error(JSON.stringify(rows[0]));
    // The next look counts what has just ended, by the clock of the database.
    await sleep(50);
  }
}
