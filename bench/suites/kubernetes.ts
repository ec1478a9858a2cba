import { setTimeout as sleep } from 'node:timers/promises';
import { jobs, mediaJobs } from '#platform/kubernetes/objects.ts';
import { endPrograms } from '../../testing/programs.ts';
import { missingFromAssets } from '../../testing/k8s/small-cluster.ts';
import { type BenchLine, type BenchSuite, interleave, median } from '../harness.ts';
import {
  anyJobOfOurs,
  type BatchJob,
  completions,
  countedWrites,
  eachOf,
  increase,
  makeEnded,
  makeMediaJob,
  makePlainJob,
  openScene,
  podSuccess,
  residentMb,
  type Scene,
  startLeader,
} from '../support/kubernetes-scene.ts';
import { measureBatches } from './kubernetes-batches.ts';

// MediaJobs beside plain Jobs on a cluster of this run: a real API server with the real controllers of Jobs, and kwok
// in the place of kubelets (testing/k8s/small-cluster.ts). Both make the same pods. The worker is one process, its
// database a PostgreSQL of this run; all of it shares this machine with the API server that it is measured at.

const jobsMany = 2_000;
const rounds = 4;
const jobsOneByOne = 8;
const jobsInMemory = 10_000;
/** The relist of every cache falls into it, at its real period. */
const idleMinutes = 10;

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

export const kubernetesSuite: BenchSuite = {
  name: 'kubernetes',
  missing() {
    return Promise.resolve(assets === '' ? 'KUBEBUILDER_ASSETS is not set' : missingFromAssets(assets));
  },
  async run() {
    const unlimited = await inScene({ hasDefaultLimits: false }, async (scene) => {
      const writes = await measureWrites(scene);
      const sample = await anyJobOfOurs(scene);
      const rate = await measureRate(scene, sample, {
        id: 'kubernetes.rate-unlimited',
        what: 'the same with controllers whose limits are off, so that processor time decides',
        count: 300,
      });
      const ends = await measureEnd(scene, sample);
      const idle = await measureIdleness(scene);
      return [writes, rate, ...ends, idle, await measureMemory(scene, sample)];
    });
    const limited = await inScene({ hasDefaultLimits: true }, async (scene) => {
      await makeAndAwait(scene, 1, 'first-');
      return measureRate(scene, await anyJobOfOurs(scene), {
        id: 'kubernetes.rate',
        what: 'MediaJobs a second beside plain Jobs, with the limits that Kubernetes’ controllers have by default',
        count: 100,
      });
    });
    return [limited, ...unlimited, ...(await measureBatches(assets))];
  },
};

async function inScene<T>(options: { hasDefaultLimits: boolean }, measure: (scene: Scene) => Promise<T>): Promise<T> {
  const scene = await openScene(assets, options);
  try {
    await startLeader(scene);
    return await measure(scene);
  } finally {
    await scene.stop();
  }
}

/** Makes MediaJobs, a few at once, and waits until the last is complete. */
async function makeAndAwait(scene: Scene, count: number, prefix: string): Promise<void> {
  const { times } = await completions(scene, mediaJobs, { count, prefix, withinMs: 20 * 60_000 });
  await eachOf(count, (n) => makeMediaJob(scene, `${prefix}${n}`));
  await times;
}

/** Writes of the controller alone: the cluster's own controllers write the status of Jobs by PUT. */
const isOurs = (name: string) =>
  /^(POST|DELETE) (jobs|secrets)$|^(PATCH|APPLY|DELETE) mediajobs(\/status)?$|^(POST|PATCH|APPLY) runnerpools/.test(
    name,
  );

/** 2,000 MediaJobs at once: every one ends, and this is what it takes. */
async function measureWrites(scene: Scene): Promise<BenchLine> {
  const before = await countedWrites(scene);
  await makeAndAwait(scene, jobsMany, 'many-');
  // The status of the pools follows within ten seconds.
  await sleep(11_000);
  const calls = increase(before, await countedWrites(scene), isOurs) / jobsMany;
  return {
    id: 'kubernetes.writes',
    what: 'write calls for a MediaJob that is there, as the API server counts them',
    value: calls,
    unit: 'calls',
    ours: `${calls.toFixed(2)} a job, of ${jobsMany} that all ended`,
    peer: '',
  };
}

let burst = 0;

/** Jobs a second, `count` at once, from the first that is made to the last that is complete. */
async function measureRate(
  scene: Scene,
  sample: BatchJob,
  { count, ...named }: { readonly id: string; readonly what: string; readonly count: number },
): Promise<BenchLine> {
  const rateOf = async (resource: typeof mediaJobs | typeof jobs, make: (name: string) => Promise<void>) => {
    burst += 1;
    const prefix = `burst-${burst}-`;
    const wanted = { count, prefix, withinMs: 10 * 60_000 };
    const { times } = await completions<object>(scene, resource, wanted);
    const rest = resource === jobs ? null : await completions(scene, jobs, wanted);
    const startMs = performance.now();
    await eachOf(count, (n) => make(`${prefix}${n}`));
    await times;
    const passedMs = performance.now() - startMs;
    // A MediaJob is complete before its Job says so; that work is not left to the next round.
    await rest?.times;
    return (count * 1000) / passedMs;
  };
  const figures = await interleave({
    rounds,
    contenders: {
      ours: () => rateOf(mediaJobs, (name) => makeMediaJob(scene, name)),
      plain: () => rateOf(jobs, (name) => makePlainJob(scene, name, sample)),
    },
  });
  const [ours, plain] = [median(figures.ours), median(figures.plain)];
  return {
    ...named,
    value: ours / plain,
    unit: 'ratio',
    ours: `${ours.toFixed(1)} a second`,
    peer: `${plain.toFixed(1)} a second`,
  };
}

/**
 * From its creation, and from the moment at which its pod is seen to have succeeded, until a job says it is complete.
 */
async function measureEnd(scene: Scene, sample: BatchJob): Promise<readonly BenchLine[]> {
  const whole = { ours: [] as number[], plain: [] as number[] };
  const endOf = async (who: 'ours' | 'plain'): Promise<number> => {
    burst += 1;
    const name = `single-${burst}`;
    const resource = who === 'ours' ? mediaJobs : jobs;
    const succeeded = await podSuccess(scene, name);
    const ended = await completions<object>(scene, resource, { count: 1, prefix: name, withinMs: 60_000 });
    const madeMs = performance.now();
    await (who === 'ours' ? makeMediaJob(scene, name) : makePlainJob(scene, name, sample));
    const [[succeededMs = 0], times] = await Promise.all([succeeded.times.then((by) => [...by.values()]), ended.times]);
    const endMs = times.get(name) ?? 0;
    whole[who].push(endMs - madeMs);
    return endMs - succeededMs;
  };
  const contenders = { ours: () => endOf('ours'), plain: () => endOf('plain') };
  const line = (id: string, what: string, figures: typeof whole): BenchLine => {
    const [ours, plain] = [median(figures.ours), median(figures.plain)];
    const [shown, peer] = [`${Math.round(ours)} ms`, `${Math.round(plain)} ms`];
    return { id: `kubernetes.${id}`, what, value: ours / plain, unit: 'ratio', ours: shown, peer };
  };
  const fromSuccess = await interleave({ rounds: jobsOneByOne, contenders });
  return [
    line('end', 'a trivial job, from its pod’s success to Complete', fromSuccess),
    line('created-to-complete', 'the same from its creation, the pod’s own way included', whole),
  ];
}

/** Nothing happens, for ten real minutes: every timer and every relist comes round at its own period. */
async function measureIdleness(scene: Scene): Promise<BenchLine> {
  await sleep(15_000);
  const before = await countedWrites(scene);
  await sleep(idleMinutes * 60_000);
  const writes = increase(before, await countedWrites(scene), isOurs);
  return {
    id: 'kubernetes.idle',
    what: `writes in ${idleMinutes} idle minutes, without the lease`,
    value: writes,
    unit: 'writes',
    ours: `${writes}, beside ${jobsMany} finished MediaJobs`,
    peer: '',
  };
}

/** What 10,000 jobs add to the resident memory of a worker that leads. */
async function measureMemory(scene: Scene, sample: BatchJob): Promise<BenchLine> {
  await endPrograms();
  const { admin } = scene.cluster;
  const empty = { ...scene, namespace: 'empty' };
  const full = { ...scene, namespace: 'full' };
  const of = async ({ namespace }: Scene): Promise<number> => {
    const worker = await startLeader({ ...scene, namespace });
    await sleep(15_000);
    const memory = await residentMb(worker);
    await endPrograms();
    return memory;
  };
  for (const { namespace } of [empty, full]) {
    const resource = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', isNamespaced: false };
    await admin.create(resource, { metadata: { name: namespace } });
  }
  await makeEnded(full, jobsInMemory, sample);
  const [without, with10k] = [await of(empty), await of(full)];
  return {
    id: 'kubernetes.memory',
    what: `resident memory that ${jobsInMemory} MediaJobs and their Jobs add`,
    value: with10k - without,
    unit: 'MB',
    ours: `${Math.round(with10k)} MB`,
    peer: `${Math.round(without)} MB without any`,
  };
}
