import { expect } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { jobs, mediaJobs, secrets } from '#platform/kubernetes/objects.ts';
import { type Cleanup, until } from './cluster.ts';
import { openCrashScene } from './crashes.ts';
import { type Fate, PodPlayer, type PlayedPod } from './pod-player.ts';
import { disruptionTarget, failedStatus, unschedulable } from './pod-states.ts';

// A job that meets every kind of write: its first pod finds no node, the second is evicted, and the third ends well.

/** Every kind of write on its way, in the order in which they come first. A new one fails crashes.test.ts. */
export const writes = [
  'POST leases',
  'PATCH runnerpools',
  'POST mediajobs',
  'POST secrets',
  'POST jobs',
  'PATCH mediajobs/status',
  'POST events',
  'DELETE jobs',
  'DELETE secrets',
  'DELETE mediajobs',
  'PATCH runnerpools/status',
  'PATCH leases',
] as const;

export const crashes = [
  ...writes.map((write) => ({ write, nth: 1 })),
  // The next attempt after a disruption, and a status after that: how many there are depends on what came at once.
  { write: 'POST jobs', nth: 2 },
  { write: 'PATCH mediajobs/status', nth: 3 },
];

const fateOf = ({ pod, nth }: PlayedPod): Fate | undefined =>
  [
    { waits: unschedulable },
    { fails: failedStatus(pod, { exitCode: 137 }, disruptionTarget('EvictionByEvictionAPI')) },
  ][nth];

/** A namespace, a database, the job and the player of its pods; no worker. */
export async function openJobWay(cleanup: Cleanup) {
  const scene = await openCrashScene(cleanup, { MEDIA_JOB_TTL: '1s', WEBHOOK_BACKOFF: '1h' });
  const player = new PodPlayer(scene, { fateOf });
  player.start();
  cleanup(() => player.stop());
  const id = await scene.workplace.submit('video:transcode', {
    options: { encrypt: true },
    callbackUrl: 'http://203.0.113.1/hook',
  });
  return { ...scene, player, id };
}

type JobWay = Awaited<ReturnType<typeof openJobWay>>;

/** Takes the first attempt away, as a person would who sees that it finds no node. */
export async function suspendOnce({ admin, namespace, id }: JobWay): Promise<void> {
  const ref = { namespace, name: `mj-${id}` };
  const look = () => admin.get(mediaJobs, ref).catch(() => null);
  await until('it finds no node', async () => (await look())?.status?.phase === 'unschedulable');
  await admin.mergePatch(mediaJobs, ref, { spec: { suspend: true } });
  await until('it is suspended', async () => (await look())?.status?.phase === 'suspended');
  await admin.mergePatch(mediaJobs, ref, { spec: { suspend: false } });
}

/** Waits until the job has ended and its MediaJob is deleted, and expects exactly one end. */
export async function expectOneEnd({ admin, namespace, workplace, player, id }: JobWay): Promise<void> {
  await until('the job has ended', async () => isFinal((await workplace.find(id)).status));
  const left = async () => (await admin.list(mediaJobs, { namespace })).items;
  await until('its MediaJob is deleted', async () => (await left()).length === 0);
  expect(await workplace.find(id)).toMatchObject({ status: 'completed', failures: 0 });
  // The node that was not there, the eviction, and at most one attempt that the crash itself made uncertain.
  expect((await workplace.find(id)).attempt).toBeGreaterThanOrEqual(3);
  expect((await workplace.find(id)).attempt).toBeLessThanOrEqual(4);
  const events = await workplace.database.pool.query('select from webhook_events where job_id = $1', [id]);
  expect(events.rowCount).toBe(1);
  for (const [name, uids] of player.uids) expect([name, uids.size]).toEqual([name, 1]);
  const secretsLeft = async () => (await admin.list(secrets, { namespace })).items;
  await until('its Secrets are deleted', async () => (await secretsLeft()).length === 0);
  const jobsLeft = async () => (await admin.list(jobs, { namespace })).items;
  await until('its Jobs are deleted', async () => (await jobsLeft()).length === 0);
}
