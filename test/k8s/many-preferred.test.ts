import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { leases, mediaJobs } from '#platform/kubernetes/objects.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { openControllerRig } from '../../testing/k8s/controller.ts';

const count = 10_000;
/** How often a leader renews its lease, and how much later than that it may. */
const [renewEveryMs, lateMsMax] = [5_000, 3_000];

test('10,000 MediaJobs with a priority delay no renewal of the lease by three seconds', async ({ annotate }) => {
  const rig = await openControllerRig({ WORKER_CONCURRENCY: '1' });
  const { admin, namespace } = rig;
  const spec = {
    type: 'image:thumbnail' as const,
    source: 'source',
    options: { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] },
  };
  const numbers = Array.from({ length: count }, (_, n) => n).values();
  const createRest = async () => {
    for (const n of numbers) {
      const metadata = { namespace, name: `preferred-${n}` };
      await admin.create(mediaJobs, { metadata, spec: { ...spec, hash: `preferred-${n}`, priority: 1 + (n % 100) } });
    }
  };
  await Promise.all(Array.from({ length: 20 }, createRest));
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  rig.startWorker();
  const renewals = new Set<number>();
  const recorded = async () =>
    (await rig.database.pool.query<{ jobs: number }>('select count(*)::int as jobs from jobs')).rows[0]?.jobs ?? 0;
  const look = async () => {
    const { items } = await admin.list(leases, { namespace });
    for (const { spec: lease } of items) renewals.add(Date.parse(lease?.renewTime ?? ''));
    return (await recorded()) >= count;
  };
  await until('each has a job', look, 900_000);
  const until30s = Date.now() + 30_000;
  await until('half a minute has passed', async () => (await look()) && Date.now() > until30s);
  const times = [...renewals].toSorted((a, b) => a - b);
  const lateMs = Math.max(...times.slice(1).map((time, n) => time - (times[n] ?? time) - renewEveryMs));
  const blockedMs = Math.round(delay.max / 1e6);
  await annotate(
    `${times.length} renewals, the latest ${lateMs} ms late; the event loop was blocked for ${blockedMs} ms`,
  );
  // At least half a minute of renewals, in which each of them came to the controller.
  expect(times.length).toBeGreaterThan(5);
  expect(lateMs).toBeLessThan(lateMsMax);
}, 1_800_000);
