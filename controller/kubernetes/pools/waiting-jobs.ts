import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { hasEnded } from '../snapshots/media-job.ts';

interface Waiting {
  readonly pool: string;
  readonly reason: string;
}

/** Keeps `svc_media_jobs_waiting`: how many MediaJobs do not progress, by pool and by the reason of their condition. */
export class WaitingJobs {
  readonly #gauge: Metrics['mediaJobsWaiting'];
  /** The series that are not 0, with their labels. */
  #series = new Map<string, Waiting>();

  constructor({ mediaJobsWaiting }: Pick<Metrics, 'mediaJobsWaiting'>) {
    this.#gauge = mediaJobsWaiting;
  }

  /** Counts the MediaJobs of the cluster; with none, as after the end of a term, every series is 0. */
  count(mediaJobs: Iterable<MediaJob>): void {
    const counts = new Map<string, number>();
    const series = new Map<string, Waiting>();
    for (const mediaJob of mediaJobs) {
      const waiting = waitingOf(mediaJob);
      if (waiting === null) continue;
      const key = `${waiting.pool} ${waiting.reason}`;
      series.set(key, waiting);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    for (const [key, labels] of [...this.#series, ...series]) this.#gauge.set(labels, counts.get(key) ?? 0);
    this.#series = series;
  }
}

/** The pool of a MediaJob that does not progress, and why; null for any other. */
function waitingOf(mediaJob: MediaJob): Waiting | null {
  const { spec, status } = mediaJob;
  const progressing = status?.conditions?.find(({ type }) => type === 'Progressing');
  if (progressing?.status !== 'False' || hasEnded(mediaJob)) return null;
  return { pool: status?.pool ?? spec.pool ?? '', reason: progressing.reason };
}
