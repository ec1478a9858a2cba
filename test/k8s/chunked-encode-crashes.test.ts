import { beforeAll, describe, expect, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { jobs, mediaJobs, pods, secrets } from '#platform/kubernetes/objects.ts';
import { endPrograms } from '../../testing/programs.ts';
import { type Cleanup, until } from '../../testing/k8s/cluster.ts';
import { crashOnce, openCrashScene } from '../../testing/k8s/crashes.ts';
import { type PlayedPod, PodPlayer } from '../../testing/k8s/pod-player.ts';

// The controller is killed before and after each write that only a chunked encode has; the others are crashes.test.ts's
// matter.

beforeAll(() => endPrograms);

const chunks = 5;

/** Bounds a chunked encode to one pod at a time once its chunks are encoded, as a person may. */
async function boundOnce({ admin, namespace }: { admin: KubeClient; namespace: string }, id: string): Promise<void> {
  const isThere = () => admin.get(jobs, { namespace, name: `mj-${id}-1-c` }).then(Boolean, () => false);
  await until('its chunks have a Job', isThere);
  await admin.mergePatch(mediaJobs, { namespace, name: `mj-${id}` }, { spec: { chunks: 1 } });
}

/** Waits until a pod's Job has the bound of `boundOnce`, and the pods beside it are taken back. */
async function isAlone({ admin, namespace }: { admin: KubeClient; namespace: string }, { pod, job }: PlayedPod) {
  const name = job.metadata?.name ?? '';
  const labelSelector = `batch.kubernetes.io/job-name=${name}`;
  const isDone = async () => {
    const { spec } = await admin.get(jobs, { namespace, name });
    const { items } = await admin.list(pods, { namespace, labelSelector });
    const live = items.filter(({ metadata, status }) => {
      const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
      return !hasEnded && metadata?.deletionTimestamp === undefined;
    });
    return spec?.parallelism === 1 && live.map(({ metadata }) => metadata?.uid).join() === pod.metadata?.uid;
  };
  await until('it is the one pod of its Job', isDone);
}

async function openScene(cleanup: Cleanup) {
  const scene = await openCrashScene(cleanup, {
    RUNNER_POOLS: JSON.stringify({ default: { concurrency: 2 } }),
    WEBHOOK_BACKOFF: '1h',
  });
  const player = new PodPlayer(scene, { chunks, mayBegin: (played) => isAlone(scene, played) });
  player.start();
  cleanup(() => player.stop());
  const id = await scene.workplace.submit('video:transcode', { options: { encrypt: true } });
  return { scene, player, id };
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
  test.for(crashes)(
    '$when $write ($nth) leaves a chunked encode that ends once, with each chunk encoded once',
    async (crash, { onTestFinished: cleanup }) => {
      const { scene, player, id } = await openScene(cleanup);
      const { admin, namespace, workplace } = scene;
      const hasEnded = async () => isFinal((await workplace.find(id)).status);
      const ended = boundOnce(scene, id).then(() => until('the job has ended', hasEnded));
      ended.catch(() => undefined);
      await crashOnce(scene, crash, ended);
      await ended;
      expect(await workplace.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
      const begun = [...player.begun].map(([part, times]) => `${part}×${times}`).toSorted();
      expect(begun.join(' ')).toBe('0×1 1×1 2×1 3×1 4×1 finish×1 split×1');
      const isEmpty = async () => (await admin.list(secrets, { namespace })).items.length === 0;
      await until('the content key is deleted', isEmpty);
    },
  );
});
