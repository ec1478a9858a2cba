import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { jobs, leases, mediaJobs, secrets } from '#platform/kubernetes/objects.ts';
import { isAlive } from '#platform/commands/is-alive.ts';
import { endPrograms, type Program } from '../../testing/programs.ts';
import { type Cleanup, until } from '../../testing/k8s/cluster.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { cleaned, kindOf, lineOf, openCrashScene } from '../../testing/k8s/crashes.ts';
import { proxiedKubeconfig } from '../../testing/k8s/kubeconfig.ts';
import { type JobWatch, watchJobs } from '../../testing/k8s/job-watch.ts';
import { type BatchJob, TestNode } from '../../testing/k8s/node.ts';
import { disruptionTarget, failedStatus, runningStatus, unschedulable } from '../../testing/k8s/pod-states.ts';
import type { Workplace } from '../../testing/k8s/workers.ts';

// The controller is killed before and after each write: every job ends exactly once with the right outcome (C12.1). The
// controller is `main.ts` in a process of its own; a proxy before the API server sees its writes on the wire, and kills
// it with SIGKILL at one of them: before the API server has it, or when it was done and the answer is on its way.

beforeAll(async () => {
  await installCrds();
  return endPrograms;
});

/** Every kind of write on the way of a job, in the order in which they come first. A new one fails the first test. */
const writes = [
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
type Write = (typeof writes)[number];

const podRunsMs = 1_200;
/** Some twelve seconds each where nothing else runs. */
const timeoutMs = 240_000;

/** Plays the cluster: the first Job finds no node, the second is evicted, and any other ends well. */
class Player {
  /** The UID of each Job that there ever was, by name: a Job that is made twice has two. */
  readonly uids = new Map<string, Set<string>>();
  readonly #node: TestNode;
  readonly #workplace: Workplace;
  #watch: JobWatch | undefined;
  #begun = 0;

  constructor(node: TestNode, workplace: Workplace) {
    this.#node = node;
    this.#workplace = workplace;
  }

  start(): void {
    this.#watch = watchJobs(this.#node, async (job) => {
      const { name = '', uid = '' } = job.metadata ?? {};
      this.uids.set(name, (this.uids.get(name) ?? new Set()).add(uid));
      this.#begun += 1;
      // What is deleted while it is played has no pod to play any more.
      await this.#play(job, this.#begun).catch(() => undefined);
    });
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  async #play(job: BatchJob, nth: number): Promise<void> {
    const labels = job.metadata?.labels ?? {};
    const attempt = Number(labels['reelwright.dev/attempt']);
    const id = labels['reelwright.dev/job-id'] ?? '';
    const pod = await this.#node.makePod(job);
    if (nth === 1) return this.#node.setStatus(pod, unschedulable);
    await this.#node.setStatus(pod, runningStatus(pod));
    await sleep(podRunsMs);
    if (nth === 2) {
      const status = failedStatus(pod, { exitCode: 137 }, disruptionTarget('EvictionByEvictionAPI'));
      return this.#node.setStatus(pod, status);
    }
    const { hash } = await this.#workplace.find(id);
    await this.#workplace.leaveStream(id, hash, attempt);
    return this.#node.setStatus(pod, { phase: 'Succeeded' });
  }
}

/** A namespace, a database, a job to be done, and a worker whose way to the API server is `proxy`. */
async function openScene(cleanup: Cleanup) {
  const scene = await openCrashScene(cleanup, { MEDIA_JOB_TTL: '1s', WEBHOOK_BACKOFF: '1h' });
  const { admin, namespace, workplace } = scene;
  const player = new Player(new TestNode(admin, namespace), workplace);
  player.start();
  cleanup(() => player.stop());
  const id = await workplace.submit('video:transcode', {
    options: { encrypt: true },
    callbackUrl: 'http://203.0.113.1/hook',
  });
  return { ...scene, player, id };
}

type Scene = Awaited<ReturnType<typeof openScene>>;

/** Takes the first attempt away, as a person would who sees that it finds no node. */
async function suspendOnce({ admin, namespace, id }: Scene): Promise<void> {
  const ref = { namespace, name: `mj-${id}` };
  const look = () => admin.get(mediaJobs, ref).catch(() => null);
  await until('it finds no node', async () => (await look())?.status?.phase === 'unschedulable', 150_000);
  await admin.mergePatch(mediaJobs, ref, { spec: { suspend: true } });
  await until('it is suspended', async () => (await look())?.status?.phase === 'suspended', 100_000);
  await admin.mergePatch(mediaJobs, ref, { spec: { suspend: false } });
}

async function expectOneEnd({ admin, namespace, workplace, player, id }: Scene): Promise<void> {
  await until('the job has ended', async () => isFinal((await workplace.find(id)).status), 90_000);
  await until(
    'its MediaJob is deleted',
    async () => (await admin.list(mediaJobs, { namespace })).items.length === 0,
    100_000,
  );
  expect(await workplace.find(id)).toMatchObject({ status: 'completed', failures: 0 });
  // The node that was not there, the eviction, and at most one attempt that the crash itself made uncertain.
  expect((await workplace.find(id)).attempt).toBeGreaterThanOrEqual(3);
  expect((await workplace.find(id)).attempt).toBeLessThanOrEqual(4);
  const events = await workplace.database.pool.query('select from webhook_events where job_id = $1', [id]);
  expect(events.rowCount).toBe(1);
  for (const [name, uids] of player.uids) expect([name, uids.size]).toEqual([name, 1]);
  const { items } = await admin.list(secrets, { namespace });
  expect(items.map(({ metadata }) => metadata?.name)).toEqual([]);
  const left = await admin.list(jobs, { namespace });
  expect(left.items.length).toBeLessThanOrEqual(player.uids.size);
}

test(
  'the table has every write of a job’s way',
  async () => {
    const scene = await openScene(onTestFinished);
    await scene.start({ KUBECONFIG: await proxiedKubeconfig(scene.proxy.url, onTestFinished) });
    await suspendOnce(scene);
    await expectOneEnd(scene);
    const seen = () => new Set(scene.proxy.requests.filter((line) => !line.startsWith('GET')).map(kindOf));
    // Events are written on the side, and the lease is renewed after it was made.
    await until('every write was seen', () => writes.every((write) => seen().has(write)));
    expect([...seen()].toSorted()).toEqual(writes.toSorted());
  },
  timeoutMs,
);

interface Crash {
  readonly write: Write;
  readonly nth: number;
  readonly when: 'before' | 'after';
}

const crashes: Crash[] = [
  ...writes.map((write) => ({ write, nth: 1 })),
  // The next attempt after a disruption, and the status of the end.
  { write: 'POST jobs' as const, nth: 2 },
  { write: 'PATCH mediajobs/status' as const, nth: 4 },
].flatMap((each) => (['before', 'after'] as const).map((when) => ({ ...each, when })));

describe.concurrent('a controller that is killed', () => {
  test.each(crashes)(
    '$when $write ($nth) leaves a job that ends once',
    async ({ write, nth, when }) => {
      const cleanups: (() => void | Promise<void>)[] = [];
      try {
        const scene = await openScene((clean) => void cleanups.unshift(clean));
        const { admin, namespace, proxy, start } = scene;
        const crashed = Promise.withResolvers<void>();
        let victim: Program | undefined;
        proxy.trap({
          matches: lineOf(write),
          nth,
          when,
          spring: () => {
            victim?.signal('SIGKILL');
            crashed.resolve();
          },
        });
        const kubeconfig = await proxiedKubeconfig(proxy.url, (clean) => void cleanups.push(clean));
        victim = await start({ KUBECONFIG: kubeconfig });
        const suspended = suspendOnce(scene);
        suspended.catch(() => undefined);
        await Promise.race([crashed.promise, expectOneEnd(scene).then(() => Promise.reject(new Error('no crash')))]);
        // It may have crashed while it was being started.
        if (isAlive(victim.pid)) victim.signal('SIGKILL');
        await victim.ended;
        // The time until a dead leader's lease runs out is lease.test.ts's matter.
        const lease = { namespace, name: 'reelwright-controller' };
        await admin.mergePatch(leases, lease, { spec: { holderIdentity: '' } }).catch(() => undefined);
        await start();
        await suspended;
        await expectOneEnd(scene);
      } finally {
        await cleaned(cleanups);
      }
    },
    timeoutMs,
  );
});
