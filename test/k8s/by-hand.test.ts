import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { mediaJobs, runnerPools, secrets } from '#platform/kubernetes/objects.ts';
import { randomOf } from '../../testing/faults/random.ts';
import { ByHand } from '../../testing/k8s/by-hand.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { FatedPods } from '../../testing/k8s/fated-pods.ts';
import { GarbageCollector } from '../../testing/k8s/garbage-collector.ts';

// The invariants of jobs on a cluster that people disturb by hand (C12.1); `make disturb` is longer.

beforeAll(installCrds);

const seconds = Number(process.env['DISTURB_SECONDS'] ?? 12);
const seed = Number(process.env['DISTURB_SEED'] ?? 1);
/** As often as an attempt may fail. */
const attemptsMax = 3;

async function openScene() {
  const rig = await openControllerRig({
    MEDIA_JOB_TTL: '10s',
    TICKET_AGE: '5s',
    WEBHOOK_BACKOFF: '1h',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32',
  });
  const random = randomOf(seed);
  const [byHand, played, collector] = [
    new ByHand(rig, random),
    new FatedPods(rig, random),
    new GarbageCollector(rig.admin, rig.namespace),
  ];
  onTestFinished(async () => {
    await played.stop();
    await collector.stop();
  });
  return { rig, byHand, played, collector };
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
    const { rig, byHand, played, collector } = await openScene();
    const mediaJobsThere = async () => (await rig.admin.list(mediaJobs, { namespace: rig.namespace })).items;
    played.start();
    collector.start();
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
    await untilNone('no Secret is left', keys, 10_000);
    await untilNone('no pod runs', () => Promise.resolve(played.running()), 10_000);
    expect(played.violations).toEqual([]);
    const active = async () => {
      const { items } = await rig.admin.list(runnerPools, { namespace: rig.namespace });
      return items.filter(({ status }) => (status?.active ?? 0) > 0).map(({ metadata }) => metadata?.name ?? '');
    };
    await untilNone('every pool is free', active, 60_000);
  },
);
