import { setTimeout as sleep } from 'node:timers/promises';
import { jobs, mediaJobs } from '#platform/kubernetes/objects.ts';
import { endPrograms } from '../../test/support/programs.ts';
import { missingFromAssets } from '../../test/k8s/support/small-cluster.ts';
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

// MediaJobs beside plain Jobs on a cluster of this run: a real API server with the real controllers of Jobs, and kwok in
// the place of kubelets (test/k8s/support/small-cluster.ts). Both make the same pods. The worker is one process, its
// database a PostgreSQL of this run; all of it shares this machine with the API server that it is measured at.

const jobsMany = 2_000;
const jobsOfRound = 300;
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
    const lines: BenchLine[] = [];
    const first = await openScene(assets);
    try {
      await startLeader(first);
      lines.push(await measureWrites(first));
      const sample = await anyJobOfOurs(first);
      lines.push(await measureRate(first, sample), await measureEnd(first, sample), await measureIdleness(first));
      lines.push(await measureMemory(first, sample));
    } finally {
      await first.stop();
    }
    return lines;
  },
};

/** Writes of the controller, and of nobody else here: the cluster's own controllers write the status of Jobs by PUT. */
const isOurs = (name: string) =>
  /^(POST|DELETE) (jobs|secrets)$|^(PATCH|APPLY|DELETE) mediajobs(\/status)?$|^(POST|PATCH|APPLY) runnerpools/.test(
    name,
  );

/** 2,000 MediaJobs at once: every one ends, and this is what it takes. */
async function measureWrites(scene: Scene): Promise<BenchLine> {
  const before = await countedWrites(scene);
  const wanted = { count: jobsMany, prefix: 'many-', withinMs: 20 * 60_000 };
  const { times } = await completions(scene, mediaJobs, wanted);
  await eachOf(jobsMany, (n) => makeMediaJob(scene, `many-${n}`));
  await times;
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

/** Jobs a second, from the first that is made to the last that is complete. */
async function measureRate(scene: Scene, sample: BatchJob): Promise<BenchLine> {
  const rateOf = async (resource: typeof mediaJobs | typeof jobs, make: (name: string) => Promise<void>) => {
    burst += 1;
    const prefix = `burst-${burst}-`;
    const wanted = { count: jobsOfRound, prefix, withinMs: 10 * 60_000 };
    const { times } = await completions<object>(scene, resource, wanted);
    const startMs = performance.now();
    await eachOf(jobsOfRound, (n) => make(`${prefix}${n}`));
    await times;
    return (jobsOfRound * 1000) / (performance.now() - startMs);
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
    id: 'kubernetes.rate',
    what: `MediaJobs a second beside plain Jobs, ${jobsOfRound} at once`,
    value: ours / plain,
    unit: 'ratio',
    ours: `${ours.toFixed(1)} a second`,
    peer: `${plain.toFixed(1)} a second`,
  };
}

/** From the moment at which its pod is seen to have succeeded until a job says that it is complete. */
async function measureEnd(scene: Scene, sample: BatchJob): Promise<BenchLine> {
  const endOf = async (isMedia: boolean): Promise<number> => {
    burst += 1;
    const name = `single-${burst}`;
    const resource = isMedia ? mediaJobs : jobs;
    const succeeded = await podSuccess(scene, name);
    const ended = await completions<object>(scene, resource, { count: 1, prefix: name, withinMs: 60_000 });
    await (isMedia ? makeMediaJob(scene, name) : makePlainJob(scene, name, sample));
    const [[succeededMs = 0], times] = await Promise.all([succeeded.times.then((by) => [...by.values()]), ended.times]);
    return (times.get(name) ?? 0) - succeededMs;
  };
  const figures = await interleave({
    rounds: jobsOneByOne,
    contenders: { ours: () => endOf(true), plain: () => endOf(false) },
  });
  const [ours, plain] = [median(figures.ours), median(figures.plain)];
  return {
    id: 'kubernetes.end',
    what: 'a trivial job, from its pod’s success to Complete',
    value: ours / plain,
    unit: 'ratio',
    ours: `${Math.round(ours)} ms`,
    peer: `${Math.round(plain)} ms`,
  };
}

/** Nothing happens, for ten real minutes: every timer and every relist comes round at its own period. */
async function measureIdleness(scene: Scene): Promise<BenchLine> {
  await sleep(15_000);
  const before = await countedWrites(scene);
  await sleep(idleMinutes * 60_000);
  const writes = increase(before, await countedWrites(scene), isOurs);
  return {
    id: 'kubernetes.idle',
    what: `writes in ${idleMinutes} idle minutes, but for the lease`,
    value: writes,
    unit: 'writes',
    ours: `${writes}, beside ${jobsMany} MediaJobs that are over`,
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
