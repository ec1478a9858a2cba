import type { AdoptDependencies } from '#jobs/submission/adopt.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { PoolStore } from '#platform/postgres/pool-store.ts';
import type { ProfileStore } from '#platform/postgres/profile-store.ts';
import type { RolloutStore } from '#platform/postgres/rollout-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { PoolTurns } from '../../execution/pool-turns.ts';
import type { StorageWatch } from '../../execution/storage-watch.ts';
import type { TaskEndpoint } from '../../execution/task-requests.ts';
import type { BatchSettings } from '../batches/batches.ts';
import type { JobTemplate } from '../manifests/job-template.ts';
import type { OwnMark } from '../manifests/own-mark.ts';
import type { ConcludeDependencies } from '../reconcile/conclude.ts';
import type { PlanSettings } from '../plan/observed.ts';

/** The dependencies of the Kubernetes executor. */
export interface MediaJobDependencies
  extends Omit<ConcludeDependencies, 'jobs' | 'queue' | 'storageWatch'>, PlanSettings {
  readonly storageWatch: Pick<StorageWatch, 'isOutage' | 'isAway' | 'problem'>;
  readonly client: KubeClient;
  readonly jobs: JobStore;
  readonly queue: TicketQueue;
  readonly turns: PoolTurns;
  readonly profiles: ProfileStore;
  readonly rollouts: RolloutStore;
  readonly poolCopy: PoolStore;
  readonly contentKeys: Pick<ContentKeyStore, 'findOrCreate'>;
  readonly source: AdoptDependencies['source'];
  readonly media: ObjectStore;
  readonly config: AdoptDependencies['config'];
  readonly webhookCidrs: AdoptDependencies['webhookCidrs'];
  readonly runnerNamespace: string;
  /** The pause between two full lists; default ten minutes. */
  readonly relistEveryMs?: number;
  /** How many waiting jobs of the API have a MediaJob. */
  readonly queuedMediaJobsMax: number;
  readonly podName: string;
  readonly podNamespace: string;
  readonly mark: OwnMark;
  readonly pools: Readonly<Record<string, RunnerPoolSpec>>;
  readonly template: JobTemplate;
  readonly baseUrl: string;
  /** The address to which the runner of an attempt POSTs its reports, and its token; null: none. */
  readonly reportFor: (attempt: { jobId: string; attempt: number }) => { url: string; token: string } | null;
  /** Where runners of batches ask for tasks. */
  readonly taskEndpoint: TaskEndpoint;
  /** Batches of image jobs; null: every image job has a Job of its own. */
  readonly batchSettings: BatchSettings | null;
  readonly randomUuid: () => string;
}
