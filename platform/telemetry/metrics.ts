import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { queueNames } from '#domain/jobs/routing.ts';
import { BoundedCounter, BoundedGauge, BoundedHistogram } from './bounded-metrics.ts';

const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Labels whose values are words of our own code: the number only stops a mistake. */
const ownWords = 32;
const routes = 64;
const statuses = 64;

const httpBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const taskBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200];

/**
 * The metrics of one process (C4.57, C4.60 to C4.65): the ten families with the prefix `svc_`, taken literally
 * (docs/decisions/0001), and those of the process itself. `main.ts` makes one and passes it down.
 *
 * `route` is a route's pattern, never a path; `status` the answer's code.
 */
export class Metrics {
  readonly registry = new Registry();

  readonly httpRequests = new BoundedCounter({
    registry: this.registry,
    name: 'svc_http_requests_total',
    help: 'HTTP requests by method, route, status',
    labels: { method: httpMethods, route: routes, status: statuses },
  });

  readonly httpDuration = new BoundedHistogram({
    registry: this.registry,
    name: 'svc_http_request_duration_seconds',
    help: 'HTTP request latency',
    labels: { method: httpMethods, route: routes, status: statuses },
    buckets: httpBuckets,
  });

  readonly imageCacheEvents = new BoundedCounter({
    registry: this.registry,
    name: 'svc_image_cache_events_total',
    help: 'Image cache hits and misses by layer and result',
    labels: { layer: ownWords, result: ['hit', 'miss'] },
  });

  readonly imageResults = new BoundedCounter({
    registry: this.registry,
    name: 'svc_image_results_total',
    help: 'Final outcome of image requests',
    labels: { result: ownWords },
  });

  readonly imageErrors = new BoundedCounter({
    registry: this.registry,
    name: 'svc_image_errors_total',
    help: 'Image failures by stage and status',
    labels: { stage: ownWords, status: statuses },
  });

  readonly workerTasks = new BoundedCounter({
    registry: this.registry,
    name: 'svc_worker_tasks_total',
    help: 'Worker task attempts by task type and result',
    labels: { type: jobTypeNames, result: ownWords },
  });

  readonly workerTaskDuration = new BoundedHistogram({
    registry: this.registry,
    name: 'svc_worker_task_duration_seconds',
    help: 'Worker task latency',
    labels: { type: jobTypeNames, result: ownWords },
    buckets: taskBuckets,
  });

  readonly readinessFailures = new BoundedCounter({
    registry: this.registry,
    name: 'svc_readiness_failures_total',
    help: 'Readiness failures by dependency check',
    labels: { check: ownWords },
  });

  readonly queueTasks = new BoundedGauge({
    registry: this.registry,
    name: 'svc_queue_tasks',
    help: 'Queue depth by queue and state',
    labels: { queue: queueNames, state: ownWords },
  });

  readonly queueSyncFailures = new Counter({
    registers: [this.registry],
    name: 'svc_queue_metrics_sync_failures_total',
    help: 'Failures while refreshing queue-depth metrics',
  });

  /** Beside the ten: requests that were limited in this process because the key-value store could not be asked. */
  readonly rateLimitFallbacks = new BoundedCounter({
    registry: this.registry,
    name: 'svc_rate_limit_fallbacks_total',
    help: 'Requests limited in process because the key-value store failed',
    labels: { limit: ownWords },
  });

  readonly queueWait = new BoundedHistogram({
    registry: this.registry,
    name: 'svc_queue_wait_seconds',
    help: 'Time from the submission of a job to the start of its first attempt',
    labels: { queue: queueNames },
    buckets: taskBuckets,
  });

  readonly workerRetries = new BoundedCounter({
    registry: this.registry,
    name: 'svc_worker_retries_total',
    help: 'Attempts that another attempt follows, by error code, disruption or storage outage',
    labels: { code: ownWords },
  });

  readonly webhookAttempts = new BoundedCounter({
    registry: this.registry,
    name: 'svc_webhook_attempts_total',
    help: 'Attempts to deliver a webhook by outcome',
    labels: { outcome: ['sent', 'retried', 'failed'] },
  });

  readonly webhookDelay = new Histogram({
    registers: [this.registry],
    name: 'svc_webhook_delay_seconds',
    help: 'Time from when an attempt to deliver a webhook is due to its start',
    buckets: taskBuckets,
  });

  readonly cleanupBacklog = new Gauge({
    registers: [this.registry],
    name: 'svc_cleanup_backlog_jobs',
    help: 'Final jobs whose objects are still to be cleaned up, at most 10000',
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }
}
