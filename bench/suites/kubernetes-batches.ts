import { setTimeout as sleep } from 'node:timers/promises';
import { isFinal } from '#domain/jobs/status.ts';
import { jobs, pods } from '#platform/kubernetes/objects.ts';
import { freePort } from '../../testing/free-port.ts';
import { BatchRunner } from '../../testing/k8s/batch-runner.ts';
import { endPrograms } from '../../testing/programs.ts';
import { type BenchLine, interleave, median, shown } from '../harness.ts';
import {
  type BatchJob,
  countedWrites,
  eachOf,
  increase,
  openScene,
  type Scene,
  startLeader,
} from '../support/kubernetes-scene.ts';

// 300 image jobs of the API at once, in batches and with a pod each, on the fake nodes of a cluster of this run. A pod
// of one job takes 200 ms there, and so does the start of a batch's pod; each of its tasks then takes 20 ms. Real pods
// start in seconds, which both ways pay for each pod.

const count = 300;
const rounds = 3;
const taskMs = 20;

const isOurs = (name: string) =>
  /^(POST|DELETE) (jobs|secrets)$|^(POST|PATCH|APPLY|DELETE) mediajobs(\/status)?$/.test(name);

/** The wall time and the writes to the API server of the burst, as ratios of those with a pod for each job. */
export async function measureBatches(assets: string): Promise<readonly BenchLine[]> {
  const scene = await openScene(assets);
  const writes = { batches: [] as number[], single: [] as number[] };
  try {
    const burst = async (who: keyof typeof writes): Promise<number> => {
      const measured = await measureBurst(scene, { IMAGE_BATCH_MIN: who === 'batches' ? '4' : '0' });
      writes[who].push(measured.writes / count);
      return measured.ms;
    };
    const contenders = { batches: () => burst('batches'), single: () => burst('single') };
    const ms = await interleave({ rounds, contenders });
    const what = `${count} image jobs at once, in batches beside a pod each`;
    const line = (id: string, { batches, single }: typeof ms, unit: string): BenchLine => ({
      id: `kubernetes.${id}`,
      what: `${what}: ${unit === 'ms' ? 'time until all are final' : 'writes to the API server a job'}`,
      value: median(batches) / median(single),
      unit: 'ratio',
      ours: shown(batches, unit),
      peer: shown(single, unit),
    });
    return [line('batches-wall', ms, 'ms'), line('batches-writes', writes, 'writes')];
  } finally {
    await scene.stop();
  }
}

async function measureBurst(scene: Scene, env: Record<string, string>): Promise<{ ms: number; writes: number }> {
  const port = String(await freePort());
  await startLeader(scene, { ...env, WORKER_METRICS_PORT: port, REPORT_URL: `http://127.0.0.1:${port}` });
  const over = new AbortController();
  const played = playBatches(scene, over.signal);
  try {
    // A job by itself: the lease of the last round's worker must lapse first.
    await untilFinal(scene, [await submit(scene)]);
    const before = await countedWrites(scene);
    const startMs = performance.now();
    const ids: string[] = [];
    await eachOf(count, async () => void ids.push(await submit(scene)));
    await untilFinal(scene, ids);
    const ms = performance.now() - startMs;
    // Batches end after a while without a job, and the last status writes follow.
    await sleep(5_000);
    return { ms, writes: increase(before, await countedWrites(scene), isOurs) };
  } finally {
    over.abort();
    await played;
    await endPrograms();
  }
}

/** Submits a job as the API does, and leaves what its runner would. */
async function submit({ workplace }: Scene): Promise<string> {
  const id = await workplace.submit('image:thumbnail');
  await workplace.leaveThumbnail(id, (await workplace.find(id)).hash);
  return id;
}

async function untilFinal({ workplace }: Scene, ids: readonly string[]): Promise<void> {
  const areFinal = async () => (await workplace.jobs.statesOf(ids)).every(({ status }) => isFinal(status));
  while (!(await areFinal())) await sleep(20);
}

/** Does the tasks of every batch whose pod runs, until `signal` aborts. */
async function playBatches(scene: Scene, signal: AbortSignal): Promise<void> {
  const { cluster, namespace } = scene;
  const labelSelector = 'reelwright.dev/batch-id';
  const begun = new Set<string>();
  const playing: Promise<void>[] = [];
  while (!signal.aborted) {
    const [made, running] = await Promise.all([
      cluster.admin.list(jobs, { namespace, labelSelector }),
      cluster.admin.list(pods, { namespace, labelSelector }),
    ]);
    for (const pod of running.items) {
      const name = pod.metadata?.name ?? '';
      const job = made.items.find(({ metadata }) => pod.metadata?.labels?.['job-name'] === metadata?.name);
      if (pod.status?.phase !== 'Running' || job === undefined || begun.has(name)) continue;
      begun.add(name);
      playing.push(play(scene, job, name));
    }
    await sleep(50);
  }
  await Promise.all(playing);
}

async function play({ cluster, namespace }: Scene, job: BatchJob, name: string): Promise<void> {
  await sleep(200);
  await new BatchRunner(job).runAll(() => sleep(taskMs));
  const state = { terminated: { exitCode: 0, reason: 'Completed', finishedAt: new Date().toISOString() } };
  const container = { name: 'all', image: 'runner', imageID: '', ready: false, restartCount: 0, state };
  const status = { phase: 'Succeeded', containerStatuses: [container] };
  await cluster.admin.mergePatch(pods, { namespace, name }, { status }, { subresource: 'status' });
}
