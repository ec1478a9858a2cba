import type { KubeClient } from '#platform/kubernetes/client.ts';
import { jobs } from '#platform/kubernetes/objects.ts';

type Job = NonNullable<(typeof jobs)['example']>;

/**
 * Runs the pods of an Indexed Job, a few at once, and writes its status as the Job controller does. `runPod` runs that of
 * an index, and says whether it succeeded.
 */
export async function runIndexed(
  job: Job,
  client: KubeClient,
  runPod: (index: number) => Promise<boolean>,
): Promise<void> {
  const ref = { namespace: job.metadata?.namespace, name: job.metadata?.name ?? '' };
  const { completions = 1 } = job.spec ?? {};
  const completed = new Set<number>();
  const running = new Map<number, Promise<void>>();
  // The API server keeps whole seconds and refuses another time.
  const startTime = new Date().toISOString().replace(/\.\d+/, '');
  const write = async (status: object) => {
    await client.mergePatch(jobs, ref, { status }, { subresource: 'status' });
  };
  const runOne = async (index: number) => {
    if (await runPod(index)) completed.add(index);
    running.delete(index);
  };
  const pending = Array.from({ length: completions }, (_, index) => index);
  while (pending.length > 0 || running.size > 0) {
    const { spec } = await client.get(jobs, ref);
    while (running.size < (spec?.parallelism ?? 1)) {
      const index = pending.shift();
      if (index === undefined) break;
      running.set(index, runOne(index));
    }
    // All of them may have ended during the request.
    if (running.size > 0) await Promise.race(running.values());
    // One write after another: the API server refuses a status with fewer indexes than the last one.
    const completedIndexes = [...completed].toSorted((a, b) => a - b).join(',');
    await write({ startTime, active: running.size, succeeded: completed.size, completedIndexes });
  }
  const at = new Date().toISOString();
  const isComplete = completed.size === completions;
  const types = isComplete ? ['SuccessCriteriaMet', 'Complete'] : ['FailureTarget', 'Failed'];
  const conditions = types.map((type) => ({ type, status: 'True', lastTransitionTime: at, reason: 'Test' }));
  await write({ conditions, active: 0, ...(isComplete ? { completionTime: at } : {}) });
}
