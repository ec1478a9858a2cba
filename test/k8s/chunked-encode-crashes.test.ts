import { beforeAll, describe, expect, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { jobs, leases, mediaJobs, secrets } from '#platform/kubernetes/objects.ts';
import { endPrograms, type Program } from '../../testing/programs.ts';
import { type Cleanup, until } from '../../testing/k8s/cluster.ts';
import { cleaned, lineOf, openCrashScene } from '../../testing/k8s/crashes.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { PodPlayer } from '../../testing/k8s/pod-player.ts';
import { proxiedKubeconfig } from '../../testing/k8s/kubeconfig.ts';

// The controller is killed before and after each write that only a chunked encode has; the others are crashes.test.ts's
// matter.

beforeAll(async () => {
  await installCrds();
  return endPrograms;
});

const chunks = 5;
const timeoutMs = 180_000;

/** Bounds a chunked encode to one pod at a time once its chunks are encoded, as a person may. */
async function boundOnce({ admin, namespace }: { admin: KubeClient; namespace: string }, id: string): Promise<void> {
  const isThere = () => admin.get(jobs, { namespace, name: `mj-${id}-1-c` }).then(Boolean, () => false);
  await until('its chunks have a Job', isThere, 90_000);
  await admin.mergePatch(mediaJobs, { namespace, name: `mj-${id}` }, { spec: { chunks: 1 } });
}

async function openScene(cleanup: Cleanup) {
  const scene = await openCrashScene(cleanup, {
    RUNNER_POOLS: JSON.stringify({ default: { concurrency: 2 } }),
    WEBHOOK_BACKOFF: '1h',
  });
  const { admin, namespace, workplace } = scene;
  // Pods wait for longer than the controller needs to take back those that are too many.
  const player = new PodPlayer({ admin, namespace, workplace }, { chunks, podWaitsMs: 800 });
  player.start();
  cleanup(() => player.stop());
  const id = await workplace.submit('video:transcode', { options: { encrypt: true } });
  return { ...scene, player, id };
}

/** Every write of a chunked encode that no other job has, or has as often. */
const writes: readonly { readonly write: string; readonly nth: number }[] = [
  { write: 'POST secrets', nth: 2 },
  { write: 'POST jobs', nth: 2 },
  { write: 'PATCH jobs', nth: 1 },
  { write: 'POST secrets', nth: 3 },
  { write: 'POST jobs', nth: 3 },
];
const crashes = writes.flatMap((each) => (['before', 'after'] as const).map((when) => ({ ...each, when })));

describe.concurrent('a controller that is killed in the middle of a chunked encode', () => {
  test.each(crashes)(
    '$when $write ($nth) leaves a chunked encode that ends once, with each chunk encoded once',
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
        const bound = boundOnce({ admin, namespace }, id);
        bound.catch(() => undefined);
        await crashed.promise;
        await victim.ended;
        const lease = { namespace, name: 'reelwright-controller' };
        await admin.mergePatch(leases, lease, { spec: { holderIdentity: '' } }).catch(() => undefined);
        await start();
        await bound;
        await until('the job has ended', async () => isFinal((await workplace.find(id)).status), 90_000);
        expect(await workplace.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
        expect(Object.fromEntries(player.begun)).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1, 4: 1, split: 1, finish: 1 });
        const isEmpty = async () => (await admin.list(secrets, { namespace })).items.length === 0;
        await until('the content key is deleted', isEmpty, 30_000);
      } finally {
        await cleaned(cleanups);
      }
    },
    timeoutMs,
  );
});
