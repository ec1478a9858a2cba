import { expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { jobs, mediaJobs, runnerPools, secrets } from '#platform/kubernetes/objects.ts';
import { pick, type Random, randomOf } from '../../testing/faults/random.ts';
import { ByHand } from '../../testing/k8s/by-hand.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { type Fate, type PlayedPod, PodPlayer } from '../../testing/k8s/pod-player.ts';
import { disruptionTarget, failedStatus, unschedulable, waitingStatus } from '../../testing/k8s/pod-states.ts';

// The invariants of jobs on a cluster that people disturb by hand (C12.1); `make disturb` is longer.

const seconds = Number(process.env['DISTURB_SECONDS'] ?? 12);
const seed = Number(process.env['DISTURB_SEED'] ?? 1);
/** As often as an attempt may fail. */
const attemptsMax = 3;

const jobIdOf = ({ pod }: PlayedPod) => pod.metadata?.labels?.['reelwright.dev/job-id'] ?? '';

/** The fates of pods; some wait for a few seconds before they run, or run for a few. */
const fates: readonly ((pod: PlayedPod['pod'], random: Random) => Fate)[] = [
  ...Array.from({ length: 4 }, () => (_: unknown, random: Random) => ({ runMs: 200 + random() * 1_200 })),
  (pod) => ({ fails: failedStatus(pod, { exitCode: 137 }, disruptionTarget('EvictionByEvictionAPI')) }),
  (pod) => ({ fails: failedStatus(pod, { exitCode: 1 }) }),
  () => ({ waits: unschedulable, waitMs: 5_000 }),
  (pod) => ({ waits: waitingStatus(pod, 'ImagePullBackOff', 'Back-off pulling image'), waitMs: 5_000 }),
  () => ({ runMs: 5_000 }),
];

/** Plays pods with fates by chance, until they are to be calm. */
function playPods(rig: ControllerRig, random: Random) {
  const { admin, namespace } = rig;
  /** Pods of a job that ran at once although no one had deleted the Job of the first. */
  const violations: string[] = [];
  /** How many attempts of a job were made to fail. */
  const failures = new Map<string, number>();
  const state = { isCalm: false };
  const fateOf = (played: PlayedPod) => {
    const fate = state.isCalm ? {} : pick(random, fates)(played.pod, random);
    if (fate.fails !== undefined && fate.fails.conditions === undefined)
      failures.set(jobIdOf(played), (failures.get(jobIdOf(played)) ?? 0) + 1);
    return fate;
  };
  const begins = async (played: PlayedPod, running: readonly PlayedPod[]) => {
    for (const other of running.filter((each) => jobIdOf(each) === jobIdOf(played))) {
      const { name = '', uid } = other.job.metadata ?? {};
      const now = await admin.get(jobs, { namespace, name }).catch(() => null);
      if (now?.metadata?.uid === uid && now?.metadata?.deletionTimestamp === undefined)
        violations.push(`${played.job.metadata?.name} runs beside ${name}`);
    }
  };
  const player = new PodPlayer({ ...rig, workplace: rig }, { fateOf, begins });
  player.start();
  onTestFinished(() => player.stop());
  return { player, violations, failures, calmDown: () => void (state.isCalm = true) };
}

async function openScene() {
  const rig = await openControllerRig({
    MEDIA_JOB_TTL: '10s',
    TICKET_AGE: '5s',
    WEBHOOK_BACKOFF: '1h',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32',
  });
  const random = randomOf(seed);
  return { rig, byHand: new ByHand(rig, random), played: playPods(rig, random) };
}

const idsOf = async (rig: ControllerRig) => {
  const { rows } = await rig.database.pool.query<{ id: string }>('select id from jobs order by id');
  return rows.map(({ id }) => id);
};

/** Waits until nothing is left; else what is left is the violation. */
async function untilNone(what: string, left: () => Promise<string[]>, withinMs: number): Promise<void> {
  await until(what, async () => (await left()).length === 0, withinMs).catch(async () => {
    expect(await left(), what).toEqual([]);
  });
}

test(
  'whatever is done to jobs by hand, each ends once, as it should, and leaves nothing',
  { timeout: (seconds + 400) * 1000 },
  async () => {
    const { rig, byHand, played } = await openScene();
    const mediaJobsThere = async () => (await rig.admin.list(mediaJobs, { namespace: rig.namespace })).items;
    await byHand.disturb(seconds);
    played.calmDown();
    await byHand.release();
    const unended = async () => {
      const rows = await Promise.all((await idsOf(rig)).map((id) => rig.find(id)));
      return rows.filter(({ status }) => !isFinal(status)).map(({ id, status, phase }) => `${id} ${status} ${phase}`);
    };
    const history = () => byHand.done.join('\n');
    await untilNone(`every job ends after\n${history()}`, unended, 120_000);

    const { rows: sent } = await rig.database.pool.query<{ job_id: string; count: string }>(
      'select job_id, count(*) as count from webhook_events group by job_id',
    );
    const events = new Map(sent.map(({ job_id: id, count }) => [id, Number(count)]));
    for (const id of await idsOf(rig)) {
      const { status } = await rig.find(id);
      const mayBe = { cancelled: byHand.ended.has(id), failed: (played.failures.get(id) ?? 0) >= attemptsMax };
      expect([id, status, (mayBe as Record<string, boolean>)[status] ?? true], history()).toEqual([id, status, true]);
      expect([id, events.get(id) ?? 0], history()).toEqual([id, status === 'cancelled' ? 0 : 1]);
    }
    const wrong = async () => {
      const shown = (await mediaJobsThere()).filter(
        ({ metadata }) => metadata?.deletionTimestamp === undefined && !byHand.written.has(metadata?.name ?? ''),
      );
      const rows = await Promise.all(shown.map(({ status }) => rig.find(status?.jobId ?? '').catch(() => null)));
      return shown.flatMap(({ metadata, status }, index) =>
        status?.phase === rows[index]?.status
          ? []
          : [`${metadata?.name} shows ${status?.phase}, not ${rows[index]?.status}`],
      );
    };
    await untilNone(`every MediaJob shows its job's end after\n${history()}`, wrong, 30_000);
    const names = async () => (await mediaJobsThere()).map(({ metadata }) => metadata?.name ?? '');
    await untilNone(`no MediaJob is left after\n${history()}`, names, 60_000);
    const keys = async () => {
      const { items } = await rig.admin.list(secrets, { namespace: rig.namespace });
      return items.map(({ metadata }) => metadata?.name ?? '');
    };
    await untilNone('no Secret is left', keys, 60_000);
    const jobsLeft = async () => (await rig.node.jobs()).map(({ metadata }) => metadata?.name ?? '');
    await untilNone('no Job is left', jobsLeft, 60_000);
    await untilNone('no pod runs', async () => [...played.player.running].map(jobIdOf), 60_000);
    expect(played.violations).toEqual([]);
    const active = async () => {
      const { items } = await rig.admin.list(runnerPools, { namespace: rig.namespace });
      return items.filter(({ status }) => (status?.active ?? 0) > 0).map(({ metadata }) => metadata?.name ?? '');
    };
    await untilNone('every pool is free', active, 60_000);
  },
);
