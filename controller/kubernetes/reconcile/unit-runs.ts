import type { Job } from '#domain/jobs/job.ts';
import { parseReport } from '#domain/work/report.ts';
import { boundedRuns, type StepRun, stepRunSchema, type UnitRun } from '#domain/work/unit-run.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Caches } from '../cache/caches.ts';
import { unitJobsOf } from '../snapshots/names.ts';
import type { ContainerSnapshot } from '../snapshots/pod.ts';
import { chunkOf, pendingChunksOf } from '../snapshots/units.ts';

/** The caches that show what pods ran. */
export type RunCaches = Pick<Caches, 'job' | 'podsOf'>;

/** The units that the pods of an attempt ran, as far as they still exist. */
export function unitRunsOf(row: Pick<Job, 'id' | 'attempt' | 'type'>, caches: RunCaches): UnitRun[] {
  return unitJobsOf(row).flatMap(({ kind: unit, name }) => {
    const pending = pendingChunksOf(caches.job(name)?.metadata.annotations);
    return caches
      .podsOf(name)
      .map((pod) => ({
        unit,
        chunk: chunkOf(pod, pending),
        pod: pod.metadata.name ?? null,
        steps: pod.containers.flatMap(stepRunsOf),
      }))
      .filter(({ steps }) => steps.length > 0);
  });
}

interface RunPorts {
  readonly caches: RunCaches;
  readonly jobs: Pick<JobStore, 'keepRuns' | 'keptRuns'>;
}

type Attempt = Pick<Job, 'id' | 'attempt' | 'type'>;

/** Keeps what the pods of a Job ran that is deleted while its attempt may go on in other Jobs. */
export async function keepRunsOf(row: Attempt, name: string, { caches, jobs }: RunPorts): Promise<void> {
  const names = unitJobsOf(row).map((unit) => unit.name);
  if (names.length === 1 || !names.includes(name)) return;
  const pods = new Set<string | null>(caches.podsOf(name).map(({ metadata }) => metadata.name ?? ''));
  const runs = unitRunsOf(row, caches).filter(({ pod }) => pods.has(pod));
  if (runs.length > 0) await jobs.keepRuns({ jobId: row.id, attempt: row.attempt }, runs);
}

/** The units that the pods of an attempt ran, those of deleted Jobs included. */
export async function allRunsOf(row: Attempt, { caches, jobs }: RunPorts): Promise<UnitRun[]> {
  const runs = unitRunsOf(row, caches);
  if (unitJobsOf(row).length === 1) return runs;
  const pods = new Set(runs.map(({ pod }) => pod));
  const kept = await jobs.keptRuns({ jobId: row.id, attempt: row.attempt });
  return [...kept.filter(({ pod }) => !pods.has(pod)), ...runs];
}

/** More than a node has that runs pods. */
const nodeCores = 512;

/**
 * As the runner reported it, within what the kubelet saw; of one that was killed what it wrote last, or the times that
 * the kubelet knows, which are whole seconds.
 */
function stepRunsOf({ name, terminated }: ContainerSnapshot): readonly StepRun[] {
  const report = parseReport(terminated?.message.trim() ?? '');
  const told = report?.type === 'result' || report?.type === 'used' ? report.steps : [];
  const [startedAt, finishedAt] = [terminated?.startedAt ?? '', terminated?.finishedAt ?? ''];
  const durationMs = Date.parse(finishedAt) - Date.parse(startedAt);
  const observed = { step: name, started_at: startedAt, duration_ms: durationMs, processor_ms: null, code: null };
  const seen = stepRunSchema.safeParse(observed).data;
  return seen === undefined ? told : boundedRuns(told, seen, nodeCores);
}
