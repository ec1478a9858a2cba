import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { unlessDeleted } from '#platform/kubernetes/errors.ts';
import type { EventRecorder } from '#platform/kubernetes/events.ts';
import { type MediaJob, mediaJobs } from '#platform/kubernetes/objects.ts';
import { refOf } from '#platform/kubernetes/store.ts';
import type { OwnWrites } from '../cache/own-writes.ts';
import type { PodProblem } from '../plan/pod-problem.ts';

interface StatusWriterPorts {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly ownWrites: Pick<OwnWrites, 'written'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** Keeps the last problem of each pool. */
  readonly problems: { note(pool: string, problem: PodProblem): void };
  readonly now: () => number;
}

/** Writes what a MediaJob shows: its status and its Warning Events. */
export class StatusWriter {
  readonly #ports: StatusWriterPorts;

  constructor(ports: StatusWriterPorts) {
    this.#ports = ports;
  }

  /** Writes the status of a MediaJob, unless it was deleted. */
  async write(mediaJob: MediaJob, status: MediaJobStatus): Promise<void> {
    const { client, ownWrites, now } = this.#ports;
    // With its UID: another object may have its name by now.
    const patch = { metadata: { uid: mediaJob.metadata?.uid }, status };
    try {
      const written = await client.mergePatch(mediaJobs, refOf(mediaJob), patch, { subresource: 'status' });
      ownWrites.written(written, now());
    } catch (error) {
      unlessDeleted(error);
    }
  }

  /** Writes a Warning Event of a MediaJob. */
  warn(mediaJob: MediaJob, event: { readonly action: string; readonly reason: string; readonly note: string }): void {
    const { apiVersion, kind } = mediaJobs;
    this.#ports.recorder.record({ regarding: { ...mediaJob, apiVersion, kind }, type: 'Warning', ...event });
  }

  /** Notes a problem for the status of the pool, and writes an Event of the MediaJob. */
  recordProblem(mediaJob: MediaJob, pool: string, problem: PodProblem): void {
    this.#ports.problems.note(pool, problem);
    this.warn(mediaJob, { action: 'Scheduling', reason: problem.reason, note: problem.message });
  }
}
