import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { jobErrorCodes } from '#domain/errors.ts';
import { steps } from '#domain/work/steps.ts';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { dueKinds, dueStates } from '#domain/work/due.ts';
import { playbackObjects } from '#domain/playback/cmcd.ts';
import { rolloutStatuses } from '#domain/rollouts/rollout.ts';
import { queueNames } from '#domain/jobs/routing.ts';
import type { LabelBounds } from './bounded-labels.ts';
import { BoundedCounter, BoundedGauge, BoundedHistogram } from './bounded-metrics.ts';
import { programVersion } from './program-version.ts';

const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Labels whose values are words of our own code: the number only stops a mistake. */
const ownWords = 32;
const routes = 64;
const statuses = 64;
const pools = 64;

const httpBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const taskBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200];

/**
 * The metrics of one process (C25.4, C25.7 to C25.12): families with the prefix `svc_`, and Node's own. `main.ts` makes
 * one and passes it down. `route` is a route's pattern, never a path; `status` the answer's code.
 */
export class Metrics {
  readonly registry = new Registry();

  readonly #counter = <Label extends string>(name: string, help: string, labels: LabelBounds<Label>) =>
    new BoundedCounter({ registry: this.registry, name, help, labels });
  readonly #gauge = <Label extends string>(name: string, help: string, labels: LabelBounds<Label>) =>
    new BoundedGauge({ registry: this.registry, name, help, labels });
  readonly #histogram = <Label extends string>(
    ...[name, help, labels, buckets]: [name: string, help: string, labels: LabelBounds<Label>, buckets: number[]]
  ) => new BoundedHistogram({ registry: this.registry, name, help, labels, buckets });

  readonly httpRequests = this.#counter('svc_http_requests_total', 'HTTP requests by method, route, status', {
    method: httpMethods,
    route: routes,
    status: statuses,
  });

  readonly httpDuration = this.#histogram(
    'svc_http_request_duration_seconds',
    'HTTP request latency',
    { method: httpMethods, route: routes, status: statuses },
    httpBuckets,
  );

  readonly imageCacheEvents = this.#counter(
    'svc_image_cache_events_total',
    'Image cache hits and misses by layer and result',
    { layer: ownWords, result: ['hit', 'miss'] },
  );

  readonly imageResults = this.#counter('svc_image_results_total', 'Final outcome of image requests', {
    result: ownWords,
  });

  readonly imageErrors = this.#counter('svc_image_errors_total', 'Image failures by stage and status', {
    stage: ownWords,
    status: statuses,
  });

  readonly workerTasks = this.#counter('svc_worker_tasks_total', 'Worker task attempts by task type and result', {
    type: jobTypeNames,
    result: ownWords,
  });

  readonly workerTaskDuration = this.#histogram(
    'svc_worker_task_duration_seconds',
    'Worker task latency',
    { type: jobTypeNames, result: ownWords },
    taskBuckets,
  );

  readonly readinessFailures = this.#counter('svc_readiness_failures_total', 'Readiness failures by dependency check', {
    check: ownWords,
  });

  readonly queueTasks = this.#gauge('svc_queue_tasks', 'Queue depth by queue and state', {
    queue: queueNames,
    state: ownWords,
  });

  readonly queueSyncFailures = new Counter({
    registers: [this.registry],
    name: 'svc_queue_metrics_sync_failures_total',
    help: 'Failures while refreshing queue-depth metrics',
  });

  /** Beside the ten: requests that were limited in this process because the key-value store could not be asked. */
  readonly rateLimitFallbacks = this.#counter(
    'svc_rate_limit_fallbacks_total',
    'Requests limited in process because the key-value store failed',
    { limit: ownWords },
  );

  readonly queueWait = this.#histogram(
    'svc_queue_wait_seconds',
    'Time from the submission of a job to the start of its first attempt',
    { queue: queueNames },
    taskBuckets,
  );

  readonly queueOldest = this.#gauge(
    'svc_queue_oldest_seconds',
    'Time since the submission of the oldest job that waits to be started',
    { queue: queueNames },
  );

  readonly dueWork = this.#gauge('svc_due_work', 'Work whose time has come by kind, and that of it which is late', {
    kind: dueKinds,
    state: dueStates,
  });

  readonly rollouts = this.#gauge('svc_rollouts', 'Rollouts by their status', { phase: rolloutStatuses });

  readonly usageJobs = this.#gauge('svc_usage_jobs', 'Jobs that ended since midnight UTC', { type: jobTypeNames });
  readonly usageOutputMinutes = this.#gauge(
    'svc_usage_output_minutes',
    'Minutes of renditions of jobs that ended since midnight UTC',
    { type: jobTypeNames },
  );
  readonly usageProcessorSeconds = this.#gauge(
    'svc_usage_processor_seconds',
    'Processor time of attempts that ended since midnight UTC',
    { type: jobTypeNames, step: steps },
  );
  readonly usagePodSeconds = this.#gauge(
    'svc_usage_pod_seconds',
    'Time of pods, or processes of workers, of attempts that ended since midnight UTC',
    { type: jobTypeNames },
  );
  readonly usageWastedSeconds = this.#gauge(
    'svc_usage_wasted_seconds',
    'Of these, of attempts that were killed or repeated',
    { type: jobTypeNames },
  );
  readonly keyFileFaults = new Gauge({
    registers: [this.registry],
    name: 'svc_key_file_faults',
    help: 'Faults of API_KEYS_FILE, and keys of it that are not in force because of another key',
  });

  readonly encodeSpeed = new Histogram({
    registers: [this.registry],
    name: 'svc_encode_speed_ratio',
    help: 'Duration of the source by the time of its transcode, of jobs that completed in their first attempt',
    buckets: [0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32],
  });

  readonly workerRetries = this.#counter(
    'svc_worker_retries_total',
    'Attempts that another attempt follows, by error code, disruption or storage outage',
    { code: ownWords },
  );

  readonly jobFailures = this.#counter('svc_job_failures_total', 'Jobs that failed finally, by type and error code', {
    type: jobTypeNames,
    code: jobErrorCodes,
  });

  readonly webhookAttempts = this.#counter('svc_webhook_attempts_total', 'Attempts to deliver a webhook by outcome', {
    outcome: ['sent', 'retried', 'failed'],
  });

  readonly webhookDelay = new Histogram({
    registers: [this.registry],
    name: 'svc_webhook_delay_seconds',
    help: 'Time from when an attempt to deliver a webhook is due to its start',
    buckets: taskBuckets,
  });

  readonly leader = this.#gauge(
    'svc_leader',
    'Whether this process holds the lease of the Kubernetes executor: 1 or 0',
    { lease: ownWords },
  );

  readonly mediaJobsWaiting = this.#gauge(
    'svc_media_jobs_waiting',
    'MediaJobs that do not progress, by pool and by the reason that their condition Progressing has',
    { pool: pools, reason: 64 },
  );

  readonly poolTasks = this.#gauge('svc_pool_tasks', 'Jobs that wait for each RunnerPool and its pods, by state', {
    pool: pools,
    state: ['pending', 'retry', 'active'],
  });

  readonly poolConcurrency = this.#gauge('svc_pool_concurrency', 'How many pods of each RunnerPool may run at once', {
    pool: pools,
  });

  readonly poolOldest = this.#gauge(
    'svc_pool_oldest_seconds',
    'Time since the submission of the oldest job that waits for each RunnerPool',
    { pool: pools },
  );

  readonly poolWait = this.#histogram(
    'svc_pool_wait_seconds',
    'Time from the submission of a job to the start of its first attempt in a RunnerPool',
    { pool: pools },
    taskBuckets,
  );

  readonly streamBytes = new Counter({
    registers: [this.registry],
    name: 'svc_stream_bytes_total',
    help: 'Bytes sent for requests of streams, with their heads',
  });

  readonly streamCacheEvents = this.#counter(
    'svc_stream_cache_events_total',
    'Stream cache hits, joined reads and misses by kind of object',
    { kind: ['playlist', 'object'], result: ['hit', 'joined', 'miss'] },
  );

  readonly imports = this.#counter('svc_imports_total', 'Attempts at imports by outcome', {
    outcome: ['completed', 'failed', 'interrupted'],
  });

  readonly importBytes = new Counter({
    registers: [this.registry],
    name: 'svc_import_bytes_total',
    help: 'Bytes that imports stored',
  });

  readonly keyRequests = this.#counter('svc_key_requests_total', 'Requests for content keys by outcome', {
    outcome: ['served', 'unauthorized', 'forbidden', 'not_found', 'limited', 'failed'],
  });

  readonly playbackRequests = this.#counter(
    'svc_playback_requests_total',
    'Answered requests with the state of a player, by what was asked for and whether its buffer had run empty',
    { object: playbackObjects, starved: ['true', 'false'] },
  );

  readonly playbackStartupRequests = new Counter({
    registers: [this.registry],
    name: 'svc_playback_startup_requests_total',
    help: 'Requests for what a player needs at once: at a start, after a seek, after its buffer ran empty',
  });

  readonly playbackBuffer = new Histogram({
    registers: [this.registry],
    name: 'svc_playback_buffer_seconds',
    help: 'Media that a player has in its buffer when it makes a request',
    buckets: [0.5, 1, 2, 5, 10, 20, 30, 60, 120],
  });

  readonly playbackThroughputRatio = new Histogram({
    registers: [this.registry],
    name: 'svc_playback_throughput_ratio',
    help: 'Throughput that a player measured by the bitrate of the rung that it requests',
    buckets: [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 5, 10, 20],
  });

  readonly playbackStartDelay = new Histogram({
    registers: [this.registry],
    name: 'svc_playback_start_delay_seconds',
    help: 'Time from the wish to play to the first frame, as players of CMCD version 2 say it',
    buckets: [0.25, 0.5, 1, 2, 3, 5, 10, 20, 60],
  });

  readonly playbackDropped = new Counter({
    registers: [this.registry],
    name: 'svc_playback_dropped_total',
    help: 'Requests with the state of a player that are in no digest, since too many media were played at once',
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    new Gauge({
      registers: [this.registry],
      name: 'svc_build_info',
      help: '1, with the version of the program and of Node',
      labelNames: ['version', 'node'],
    }).set({ version: programVersion(), node: process.versions.node }, 1);
  }
}
