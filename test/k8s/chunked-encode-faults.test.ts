import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { retryJob } from '#jobs/submission/retry.ts';
import { jobs, mediaJobs, pods } from '#platform/kubernetes/objects.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { type Cleanup, until } from '../../testing/k8s/cluster.ts';
import { type ControllerRig, openControllerRig } from '../../testing/k8s/controller.ts';
import { type Play, PodPlayer, type PlayedPod } from '../../testing/k8s/pod-player.ts';
import type { BatchJob, Pod, PodStatus } from '../../testing/k8s/node.ts';
import { disruptionTarget, failedStatus } from '../../testing/k8s/pod-states.ts';

// What may end the pods of chunks, and which chunks are begun again then. The pods are played; chunked-encode.test.ts
// has the real runner.

interface PlayScene extends Play {
  readonly cleanup: Cleanup;
  readonly concurrency?: number;
  readonly variables?: Record<string, string>;
}

async function openScene({ cleanup, concurrency = 4, variables = {}, ...play }: PlayScene) {
  const pools = { RUNNER_POOLS: JSON.stringify({ default: { concurrency } }) };
  const rig = await openControllerRig({ ...pools, ...variables }, cleanup);
  const player = new PodPlayer({ ...rig, workplace: rig }, play);
  cleanup(() => player.stop());
  await rig.writeSource('source', Buffer.from('a video'));
  player.start();
  const id = await rig.submit('video:transcode', { options: { encrypt: true } });
  return { rig, player, id };
}

const oncePerChunk = (chunks: number) => Object.fromEntries(Array.from({ length: chunks }, (_, chunk) => [chunk, 1]));
const begunOf = ({ begun }: PodPlayer) => Object.fromEntries(begun);

type Failure = (pod: Pod) => PodStatus;
/** The Job controller waits ten seconds and more between the pods of a chunk, from the end of one that failed. */
const endedLongAgo = { type: 'Ready', status: 'False' as const, lastTransitionTime: '2026-01-01T00:00:00Z' };
const failing =
  (terminated: Parameters<typeof failedStatus>[1], { conditions = [], ...more }: Partial<PodStatus> = {}): Failure =>
  (pod) =>
    failedStatus(pod, terminated, { ...more, conditions: [...conditions, endedLongAgo] });
const stopped = (more?: Partial<PodStatus>) => failing({ exitCode: 143 }, more);
const atDeadline = stopped({ reason: 'DeadlineExceeded', message: 'Pod was active longer than its deadline' });
const outOfMemory = failing({ exitCode: 137, reason: 'OOMKilled' });

const fatesOf = (failureOf: (part: string, nth: number) => Failure | undefined) => (played: PlayedPod) => {
  const failure = failureOf(played.part, played.nth);
  return failure && { fails: failure(played.pod) };
};

test.concurrent(
  'C26.3: a pod that is deleted, drained, preempted, out of memory or past its deadline costs its own chunk and no attempt, again and again',
  async ({ onTestFinished: cleanup }) => {
    const disruptions: readonly Failure[] = [
      stopped(),
      stopped(disruptionTarget('EvictionByEvictionAPI')),
      failing({ exitCode: 137 }, disruptionTarget('PreemptionByScheduler')),
      stopped(disruptionTarget('TerminationByKubelet')),
    ];
    const failures: readonly Failure[] = [outOfMemory, failing({ exitCode: 20 }), atDeadline];
    // A chunk may be disrupted more often than it may fail.
    const times = [...disruptions.map(() => 3), ...failures.map(() => 2)];
    const fateOf = fatesOf((part, nth) =>
      nth < (times[Number(part)] ?? 0) ? [...disruptions, ...failures][Number(part)] : undefined,
    );
    const { rig, player, id } = await openScene({ cleanup, chunks: 10, fateOf });
    rig.startWorker();
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0, disruptions: 0 });
    const again = Object.fromEntries(times.map((each, chunk) => [chunk, each + 1]));
    expect(begunOf(player)).toEqual({ ...oncePerChunk(10), ...again, split: 1, finish: 1 });
  },
);

test.concurrent(
  'C12.14: a split that is drained and a last part that exceeds the deadline of its attempt cost no chunk',
  async ({ onTestFinished: cleanup }) => {
    const failures: Record<string, Failure> = {
      split: stopped(disruptionTarget('EvictionByEvictionAPI')),
      finish: atDeadline,
    };
    const fateOf = fatesOf((part, nth) => (nth === 0 ? failures[part] : undefined));
    const { rig, player, id } = await openScene({ cleanup, chunks: 4, fateOf });
    rig.startWorker();
    expect(await rig.ended(id)).toMatchObject({ status: 'completed', attempt: 3, failures: 1, disruptions: 1 });
    expect(begunOf(player)).toEqual({ ...oncePerChunk(4), split: 2, finish: 2 });
  },
);

function isChunksJobOver({ metadata, status }: BatchJob): boolean {
  return metadata?.name?.endsWith('-c') === false || status?.conditions?.some(({ type }) => type === 'Failed') === true;
}

const isPodOver = ({ metadata, status }: Pod) =>
  metadata?.deletionTimestamp !== undefined || ['Failed', 'Succeeded'].includes(status?.phase ?? '');

test.concurrent.for([
  ['runs out of memory', outOfMemory, 'resource_exhausted'],
  ['exceeds its deadline', atDeadline, 'deadline_exceeded'],
] as const)(
  'C12.14: a chunk that %s each time fails the job by its number, and a retry encodes that chunk alone',
  async ([, failure, code], { onTestFinished: cleanup }) => {
    let isFailing = true;
    const fateOf = fatesOf((part) => (isFailing && part === '2' ? failure : undefined));
    const { rig, player, id } = await openScene({ cleanup, chunks: 5, fateOf, variables: { JOB_ATTEMPTS: '2' } });
    rig.startWorker();
    const failed = await rig.ended(id);
    expect(failed).toMatchObject({ status: 'failed', attempt: 2, error: { code } });
    expect(failed.error?.message).toMatch(/^Chunk 2: /);
    await until('no chunk is begun any more', async () => {
      if (!(await rig.node.jobs()).every(isChunksJobOver)) return false;
      return (await rig.admin.list(pods, { namespace: rig.namespace })).items.every(isPodOver);
    });
    const times = player.begun.get('2') ?? 0;
    expect(begunOf(player)).toEqual({ ...oncePerChunk(5), 2: times, split: 1 });
    // Before the Job is deleted that does not count them, another pod may have begun.
    expect(times - 6).toBeOneOf(code === 'deadline_exceeded' ? [0, 1, 2] : [0]);
    isFailing = false;
    const log = createLogger({ level: 'silent', name: 'test' });
    const [retry] = await retryJob({ ...rig, randomUuid: randomUUID, log }, id, null);
    expect(await rig.ended(retry?.id ?? '')).toMatchObject({ status: 'completed', attempt: 1 });
    expect(begunOf(player)).toEqual({ ...oncePerChunk(5), 2: times + 1, split: 2, finish: 1 });
  },
);

/** Holds chunks back; `release` lets some of them end, or all. */
function openGate() {
  const gates = new Map<number, PromiseWithResolvers<undefined>>();
  const gateOf = (chunk: number) => {
    const gate = gates.get(chunk) ?? Promise.withResolvers<undefined>();
    gates.set(chunk, gate);
    return gate;
  };
  return {
    mayEnd: (chunk: number) => gateOf(chunk).promise,
    release: (...chunks: number[]) => chunks.forEach((chunk) => gateOf(chunk).resolve(undefined)),
  };
}

describe.concurrent('a chunked encode whose work is suspended', () => {
  const suspensions = {
    'its MediaJob': ({ admin, namespace }: ControllerRig, id: string, suspend: boolean) =>
      admin.mergePatch(mediaJobs, { namespace, name: `mj-${id}` }, { spec: { suspend } }),
    'its Job, as by Kueue': ({ admin, namespace }: ControllerRig, id: string, suspend: boolean) =>
      admin.mergePatch(jobs, { namespace, name: `mj-${id}-1-c` }, { spec: { suspend } }),
  };

  test.for(Object.entries(suspensions))(
    'C12.14: by %s continues with the chunks that were not finished',
    async ([, set], { onTestFinished: cleanup }) => {
      const { mayEnd, release } = openGate();
      const RUNNER_POOLS = JSON.stringify({ default: { concurrency: 4, chunkParallelism: 2 } });
      const { rig, player, id } = await openScene({ cleanup, chunks: 5, mayEnd, variables: { RUNNER_POOLS } });
      rig.startWorker();
      release(0, 1);
      await until('two chunks are finished, two begun', () => player.chunksBegun === 4);
      await set(rig, id, true);
      await until('no pod runs', () => player.running.size === 0);
      release(2, 3, 4);
      await set(rig, id, false);
      expect(await rig.ended(id)).toMatchObject({ status: 'completed', failures: 0 });
      expect(begunOf(player)).toEqual({ ...oncePerChunk(5), 2: 2, 3: 2, split: 1, finish: 1 });
      expect(player.podsMax).toBe(2);
    },
  );
});
