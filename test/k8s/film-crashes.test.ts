import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { filmKey, filmRecordKey } from '#domain/media/object-keys.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { leases, secrets } from '#platform/kubernetes/objects.ts';
import { endPrograms, type Program } from '../../testing/programs.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { type Cleanup, cleaned, lineOf, openCrashScene } from '../../testing/k8s/crashes.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { runIndexed } from '../../testing/k8s/indexed-job.ts';
import { proxiedKubeconfig } from '../../testing/k8s/kubeconfig.ts';
import { type BatchJob, TestNode } from '../../testing/k8s/node.ts';
import { runningStatus } from '../../testing/k8s/pod-states.ts';
import type { Workplace } from '../../testing/k8s/workers.ts';

// The controller is killed before and after each write that only a film has; the others are crashes.test.ts's matter.

beforeAll(async () => {
  await installCrds();
  return endPrograms;
});

const rev = '0123456789abcdef';
const chunks = 4;
const podRunsMs = 600;
const timeoutMs = 180_000;

/** Plays the cluster for a film: leaves what its runners leave, and writes the statuses of pods and Jobs. */
class FilmPlayer {
  /** How often each chunk was begun, and how many Jobs of each part there ever were. */
  readonly begun = new Map<string, number>();
  readonly uids = new Set<string>();
  readonly #admin: KubeClient;
  readonly #node: TestNode;
  readonly #workplace: Workplace;
  readonly #over = new AbortController();

  constructor(admin: KubeClient, namespace: string, workplace: Workplace) {
    this.#admin = admin;
    this.#node = new TestNode(admin, namespace);
    this.#workplace = workplace;
  }

  start(): void {
    void (async () => {
      while (!this.#over.signal.aborted) {
        for (const job of await this.#node.jobs()) {
          const { uid = '' } = job.metadata ?? {};
          if (!this.uids.has(uid)) this.#play(job).catch(() => undefined);
          this.uids.add(uid);
        }
        await sleep(50);
      }
    })();
  }

  stop(): void {
    this.#over.abort();
  }

  async #play(job: BatchJob): Promise<void> {
    const { labels = {} } = job.metadata ?? {};
    const part = labels['reelwright.dev/part'] ?? '';
    if (part === 'encode') return runIndexed(job, this.#admin, (index) => this.#encode(job, index));
    this.begun.set(part, (this.begun.get(part) ?? 0) + 1);
    const pod = await this.#node.makePod(job);
    await this.#node.setStatus(pod, runningStatus(pod));
    await sleep(podRunsMs);
    const id = labels['reelwright.dev/job-id'] ?? '';
    if (part === 'split') {
      await this.#put(filmRecordKey(rev, 'audio'), {});
      await this.#put(filmKey(id), { v: 1, rev, chunk_frames: Array.from({ length: chunks }, () => 150) });
    } else {
      const { hash, attempt } = await this.#workplace.find(id);
      await this.#workplace.leaveStream(id, hash, attempt);
    }
    await this.#node.setStatus(pod, { phase: 'Succeeded' });
  }

  async #encode(job: BatchJob, index: number): Promise<boolean> {
    const name = String(chunksOf(job)[index]);
    this.begun.set(name, (this.begun.get(name) ?? 0) + 1);
    const pod = await this.#node.makePod(job, { index });
    await this.#node.setStatus(pod, runningStatus(pod));
    await sleep(podRunsMs);
    await this.#put(filmRecordKey(rev, Number(name)), {});
    await this.#node.setStatus(pod, { phase: 'Succeeded' });
    return true;
  }

  #put(key: string, content: object): Promise<unknown> {
    return this.#workplace.media.put(key, JSON.stringify(content), { contentType: 'application/json' });
  }
}

function chunksOf({ metadata }: BatchJob): number[] {
  return (JSON.parse(metadata?.annotations?.['reelwright.dev/film'] ?? '{}') as { chunks: number[] }).chunks;
}

async function openScene(cleanup: Cleanup) {
  const scene = await openCrashScene(cleanup, {
    RUNNER_POOLS: JSON.stringify({ default: { concurrency: 2 } }),
    WEBHOOK_BACKOFF: '1h',
  });
  const { admin, namespace, workplace } = scene;
  const player = new FilmPlayer(admin, namespace, workplace);
  player.start();
  cleanup(() => player.stop());
  const id = await workplace.submit('video:transcode', { options: { encrypt: true } });
  return { ...scene, player, id };
}

/** Every write on the way of a film that no other job has, or has as often. */
const writes: readonly { readonly write: string; readonly nth: number }[] = [
  { write: 'POST secrets', nth: 2 },
  { write: 'POST jobs', nth: 2 },
  { write: 'POST secrets', nth: 3 },
  { write: 'POST jobs', nth: 3 },
];
const crashes = writes.flatMap((each) => (['before', 'after'] as const).map((when) => ({ ...each, when })));

describe.concurrent('a controller that is killed in the middle of a film', () => {
  test.each(crashes)(
    '$when $write ($nth) leaves a film that ends once, with each chunk encoded once',
    async ({ write, nth, when }) => {
      const cleanups: (() => void | Promise<void>)[] = [];
      try {
        const { admin, namespace, proxy, start, workplace, player, id } = await openScene(
          (clean) => void cleanups.unshift(clean),
        );
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
        victim = await start({
          KUBECONFIG: await proxiedKubeconfig(proxy.url, (clean) => void cleanups.push(clean)),
        });
        await crashed.promise;
        await victim.ended;
        const lease = { namespace, name: 'reelwright-controller' };
        await admin.mergePatch(leases, lease, { spec: { holderIdentity: '' } }).catch(() => undefined);
        await start();
        await until('the film is over', async () => isFinal((await workplace.find(id)).status), 90_000);
        expect(await workplace.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
        expect(Object.fromEntries(player.begun)).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1, split: 1, finish: 1 });
        const isEmpty = async () => (await admin.list(secrets, { namespace })).items.length === 0;
        await until('the content key is deleted', isEmpty, 30_000);
      } finally {
        await cleaned(cleanups);
      }
    },
    timeoutMs,
  );
});
