import type { AdoptDependencies } from '#jobs/adopt.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { StorageWatch } from '../storage-watch.ts';
import type { JobTemplate } from './manifests/job-manifest.ts';
import type { ConcludeDependencies } from './reconcile/conclude.ts';
import type { PlanSettings } from './reconcile/observed.ts';

/** The dependencies of the Kubernetes executor. */
export interface MediaJobDependencies
  extends Omit<ConcludeDependencies, 'jobs' | 'queue' | 'storageWatch'>, PlanSettings {
  readonly storageWatch: Pick<StorageWatch, 'isOutage' | 'isAway'>;
  readonly client: KubeClient;
  readonly jobs: JobStore;
  readonly queue: TicketQueue;
  readonly contentKeys: Pick<ContentKeyStore, 'findOrCreate'>;
  readonly source: AdoptDependencies['source'];
  readonly config: AdoptDependencies['config'];
  readonly webhookCidrs: AdoptDependencies['webhookCidrs'];
  readonly runnerNamespace: string;
  /** The pause between two full lists; default ten minutes. */
  readonly relistEveryMs?: number;
  readonly podName: string;
  readonly podNamespace: string;
  readonly pools: Readonly<Record<string, RunnerPoolSpec>>;
  readonly template: JobTemplate;
  readonly baseUrl: string;
  /** The address to which the runner of an attempt POSTs its reports, and its token; null: none. */
  readonly reportFor: (attempt: { jobId: string; attempt: number }) => { url: string; token: string } | null;
  readonly randomUuid: () => string;
}
