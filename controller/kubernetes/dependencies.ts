import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { JobTemplate } from './manifests/job-manifest.ts';
import type { AdoptDependencies } from '#jobs/adopt.ts';
import type { PlanSettings } from './reconcile/plan.ts';
import type { SettleDependencies } from './reconcile/settle.ts';

/** What the reconcilers work with. */
export interface MediaJobDependencies extends Omit<SettleDependencies, 'jobs' | 'queue'>, PlanSettings {
  readonly client: KubeClient;
  readonly jobs: JobStore;
  readonly queue: TicketQueue;
  readonly contentKeys: Pick<ContentKeyStore, 'findOrCreate'>;
  readonly source: AdoptDependencies['source'];
  readonly config: AdoptDependencies['config'];
  readonly webhookCidrs: AdoptDependencies['webhookCidrs'];
  readonly runnerNamespace: string;
  /** How often everything is listed again; ten minutes unless told. */
  readonly relistEveryMs?: number;
  readonly podName: string;
  readonly podNamespace: string;
  readonly pools: Readonly<Record<string, RunnerPoolSpec>>;
  readonly template: JobTemplate;
  readonly baseUrl: string;
  /** Where the runner of an attempt POSTs its reports, and with what token; null: nowhere. */
  readonly reportFor: (attempt: { jobId: string; attempt: number }) => { url: string; token: string } | null;
  readonly randomUuid: () => string;
}
