import type { Condition } from '#domain/kubernetes/custom-resource.ts';
import type { RunnerPoolStatus } from '#domain/kubernetes/runner-pool.ts';
import { timeOf } from '../plan/status.ts';

interface ReadyInput {
  readonly observedGeneration: number;
  readonly before: RunnerPoolStatus | undefined;
  readonly nowMs: number;
}

/** The condition `Ready`: nothing keeps the jobs of a pool from running. A pool without slots is ready to have none. */
export function readyOf(lastError: string, { observedGeneration, before, nowMs }: ReadyInput): Condition {
  const ready =
    lastError === ''
      ? ({ status: 'True', reason: 'Ready', message: '' } as const)
      : ({ status: 'False', reason: 'JobsCannotRun', message: lastError } as const);
  const known = before?.conditions?.find(({ type }) => type === 'Ready');
  const lastTransitionTime = known?.status === ready.status ? known.lastTransitionTime : timeOf(nowMs);
  return { type: 'Ready', observedGeneration, lastTransitionTime, ...ready };
}
