import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { jobs, type pods } from '#platform/kubernetes/objects.ts';

// What the Job controller does for an Indexed Job: a pod for each index, a few at once, replaced as the Job's rules
// say.

type Job = NonNullable<(typeof jobs)['example']>;
type PodStatus = NonNullable<NonNullable<(typeof pods)['example']>['status']>;

/** A pod of an index, for the one who runs it. */
export interface IndexedPod {
  readonly index: number;
  /** How many pods the index had before, in this Job. */
  readonly nth: number;
  /** Aborted when the Job controller deletes the pod. */
  readonly deleted: AbortSignal;
  /** Set once a container runs: of too many pods, those that have not started are deleted first. */
  hasStarted: boolean;
}

interface RunningPod {
  readonly pod: IndexedPod;
  readonly deletion: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Runs the pods of an Indexed Job and writes its status, until the Job has ended or is deleted.
 *
 * @param runPod runs a pod to its end, or until it is deleted, and returns its last status
 */
export async function runIndexed(
  job: Job,
  client: KubeClient,
  runPod: (pod: IndexedPod) => Promise<PodStatus>,
): Promise<void> {
  const ref = { namespace: job.metadata?.namespace, name: job.metadata?.name ?? '' };
  const { completions = 1, backoffLimitPerIndex = 0 } = job.spec ?? {};
  const pending = Array.from({ length: completions }, (_, index) => index);
  const running = new Map<number, RunningPod>();
  const [begun, failures] = [new Map<number, number>(), new Map<number, number>()];
  const [completed, failed] = [new Set<number>(), new Set<number>()];
  const verdict = { isRefused: false };
  let suspended: Condition | null = null;
  let written = '';
  // The API server keeps whole seconds and refuses another time.
  const startTime = new Date().toISOString().replace(/\.\d+/, '');

  // The API server refuses a status with fewer indexes than the last one: one write after another.
  const write = async (more: object = {}) => {
    const shown = { active: running.size, succeeded: completed.size, completedIndexes: listOf(completed) };
    const status = { startTime, ...shown, failedIndexes: listOf(failed), ...more };
    if (JSON.stringify(status) === written) return;
    await client.mergePatch(jobs, ref, { status }, { subresource: 'status' });
    written = JSON.stringify(status);
  };
  const settleFailure = (index: number, status: PodStatus) => {
    const action = actionOf(job, status);
    if (action === 'Count') failures.set(index, (failures.get(index) ?? 0) + 1);
    if (action === 'FailJob') verdict.isRefused = true;
    if ((failures.get(index) ?? 0) > backoffLimitPerIndex) failed.add(index);
    else pending.unshift(index);
  };
  const runToEnd = async (pod: IndexedPod) => {
    const status = await runPod(pod);
    running.delete(pod.index);
    if (status.phase === 'Succeeded') completed.add(pod.index);
    else if (pod.deleted.aborted) pending.unshift(pod.index);
    else settleFailure(pod.index, status);
  };
  const start = (index: number) => {
    const deletion = new AbortController();
    const nth = begun.get(index) ?? 0;
    begun.set(index, nth + 1);
    const pod: IndexedPod = { index, nth, deleted: deletion.signal, hasStarted: false };
    const ended = runToEnd(pod);
    ended.catch(() => undefined);
    running.set(index, { pod, deletion, ended });
  };
  const activePods = () => [...running.values()].filter(({ pod }) => !pod.deleted.aborted);

  try {
    while ((pending.length > 0 || running.size > 0) && !verdict.isRefused) {
      const { metadata, spec } = await client.get(jobs, ref);
      if (metadata?.uid !== job.metadata?.uid) return;
      const wanted = spec?.suspend === true ? 0 : (spec?.parallelism ?? 1);
      const latestFirst = activePods().toSorted((a, b) => Number(a.pod.hasStarted) - Number(b.pod.hasStarted));
      for (const { deletion } of latestFirst.slice(0, Math.max(0, latestFirst.length - wanted))) deletion.abort();
      while (activePods().length < wanted) {
        const index = pending.shift();
        if (index === undefined) break;
        start(index);
      }
      suspended = suspensionOf(spec?.suspend === true, suspended);
      await write(suspended === null ? {} : { conditions: [suspended] });
      await Promise.race([...[...running.values()].map(({ ended }) => ended), sleep(50)]);
    }
    const at = new Date().toISOString();
    const isComplete = completed.size === completions;
    const types = isComplete ? ['SuccessCriteriaMet', 'Complete'] : ['FailureTarget', 'Failed'];
    const conditions = types.map((type) => ({ type, status: 'True', lastTransitionTime: at, reason: 'Test' }));
    await write({ conditions, active: 0, ...(isComplete ? { completionTime: at } : {}) });
  } finally {
    for (const { deletion } of running.values()) deletion.abort();
  }
}

/** As the Job controller writes indexes, without ranges. */
function listOf(indexes: ReadonlySet<number>): string {
  return [...indexes].toSorted((a, b) => a - b).join(',');
}

interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly lastTransitionTime: string;
}

/** The condition of a Job that is or was suspended. */
function suspensionOf(isSuspended: boolean, before: Condition | null): Condition | null {
  const status = isSuspended ? 'True' : 'False';
  if (before === null ? !isSuspended : before.status === status) return before;
  const reason = isSuspended ? 'JobSuspended' : 'JobResumed';
  return { type: 'Suspended', status, reason, lastTransitionTime: new Date().toISOString() };
}

/** What the pod failure policy of a Job says of a pod that failed. */
function actionOf({ spec }: Job, { initContainerStatuses = [], containerStatuses = [], conditions = [] }: PodStatus) {
  const codes = [...initContainerStatuses, ...containerStatuses].flatMap(
    ({ state }) => state?.terminated?.exitCode ?? [],
  );
  const rule = spec?.podFailurePolicy?.rules.find(
    ({ onExitCodes, onPodConditions = [] }) =>
      codes.some((code) => code !== 0 && onExitCodes?.values.includes(code)) ||
      onPodConditions.some((wanted) =>
        conditions.some(({ type, status }) => type === wanted.type && status === 'True'),
      ),
  );
  return rule?.action ?? 'Count';
}
