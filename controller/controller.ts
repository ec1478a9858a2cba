import { queueNames } from '#domain/jobs/routing.ts';
import { runnerVariables } from '#domain/work/steps.ts';
import type { Config } from '#platform/config/config.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import { storageEnvironment } from '#platform/config/storage-settings.ts';
import { importCleanupTask } from './imports/import-cleanup.ts';
import { importWorker } from './imports/import-worker.ts';
import { admissionComponent, admissionPastQueueTask } from './execution/admission.ts';
import type { ControllerDependencies, ExecutorDependencies } from './dependencies.ts';
import type { Executor } from './execution/executor.ts';
import { KubernetesExecutor } from './kubernetes/kubernetes-executor.ts';
import { kubernetesDependencies } from './kubernetes/from-configuration.ts';
import { ProcessExecutor } from './process/process-executor.ts';
import { cleanupTask } from './upkeep/cleanup.ts';
import { dueGaugesTask } from './upkeep/due-gauges.ts';
import { mediaDeletionTask } from './upkeep/media-deletion.ts';
import { webhookSenderComponent } from './webhooks/webhook-sender.ts';
import { queueGaugesComponent } from './execution/queue-gauges.ts';
import { reportHandler } from './execution/reports.ts';
import { StorageWatch } from './execution/storage-watch.ts';
import { oldRowsTasks } from './upkeep/old-rows.ts';
import { periodicComponent } from '#platform/lifecycle/periodic-component.ts';
import { playbackRetentionTask } from './upkeep/playback-retention.ts';
import { retentionTasks } from './upkeep/retention.ts';
import { rolloutGaugesTask } from './upkeep/rollout-gauges.ts';
import { usageGaugesTask } from './upkeep/usage-gauges.ts';
import { rolloutRetentionTask, rolloutTask } from './upkeep/rollouts.ts';
import { sweeperComponent } from './upkeep/sweeper.ts';
import { taskRequestHandler } from './execution/task-requests.ts';
import { uploadExpiryTask } from './upkeep/upload-expiry.ts';
import { workerListenerComponent } from './execution/worker-listener.ts';

/**
 * The worker's components in the order of their start, after the database: the executor starts before anything is
 * admitted.
 */
export function controllerComponents(dependencies: ControllerDependencies): Component[] {
  const { config, jobs, queue, webhookEvents, metrics, log, clock, random } = dependencies;
  const { outageDeadlineMs } = config;
  const storageWatch = new StorageWatch({
    source: dependencies.source,
    media: dependencies.media,
    recordOutage: () => jobs.recordStorageOutage(),
    log,
    outageDeadlineMs,
  });
  const executing: ExecutorDependencies = { ...dependencies, storageWatch };
  const executor: Executor =
    config.executor === 'kubernetes'
      ? new KubernetesExecutor(kubernetesDependencies(executing))
      : processExecutorOf(executing);
  const isStorageAway = () => storageWatch.isAway;
  const admission = { jobs, queue, executor, storageWatch, metrics, log };
  return [
    storageWatch,
    ...(config.executor === 'kubernetes' ? [] : [withoutClusterProfiles(dependencies)]),
    { name: `executor ${executor.name}`, start: () => executor.start(), stop: (signal) => executor.stop(signal) },
    ...queueNames.map((name) => admissionComponent(name, admission)),
    ...(config.executor === 'kubernetes'
      ? [periodicComponent({ ...admissionPastQueueTask(admission), everyMs: admissionPastQueueEveryMs, log })]
      : []),
    sweeperComponent({
      jobs,
      queue,
      log,
      everyMs: config.sweepIntervalMs,
      leaseMs: config.leaseMs,
      ticketAgeMs: config.ticketAgeMs,
    }),
    webhookSenderComponent({
      events: webhookEvents,
      metrics,
      secret: config.webhookSecret,
      allowedCidrs: config.webhookAllowedCidrs,
      backoffMs: config.webhookBackoffMs,
      log,
      clock,
      random,
    }),
    ...[
      cleanupTask({ ...dependencies, graceMs: cleanupGraceMs }),
      ...oldRowsTasks(dependencies),
      rolloutRetentionTask(dependencies),
      playbackRetentionTask({ ...dependencies, playbackRetentionMs: config.playbackRetentionMs }),
      ...retentionTasks({
        ...dependencies,
        jobRetentionMs: config.jobRetentionMs,
        revisionRetentionMs: config.revisionRetentionMs,
      }),
    ].map((task) => periodicComponent({ ...task, everyMs: cleanupEveryMs, log })),
    periodicComponent({
      ...mediaDeletionTask({
        ...dependencies,
        webhookSecret: config.webhookSecret,
        purgeHookUrl: config.purgeHookUrl,
        receiptRetentionMs: config.receiptRetentionMs,
      }),
      everyMs: mediaDeletionEveryMs,
      log,
    }),
    ...bringInComponents(dependencies),
    periodicComponent({ ...rolloutTask({ ...dependencies, isStorageAway }), everyMs: rolloutsEveryMs, log }),
    periodicComponent({ ...dueGaugesTask({ ...dependencies, cleanupGraceMs }), everyMs: gaugesEveryMs, log }),
    periodicComponent({ ...rolloutGaugesTask(dependencies), everyMs: gaugesEveryMs, log }),
    periodicComponent({ ...usageGaugesTask(dependencies), everyMs: gaugesEveryMs, log }),
    queueGaugesComponent({ queue, jobs, executor, metrics, log, everyMs: gaugesEveryMs }),
  ];
}

/** The components of uploads and imports; none without a bucket that may be written. */
function bringInComponents(dependencies: ControllerDependencies): Component[] {
  const { config, uploads: bucket, uploadRows, importRows, log } = dependencies;
  if (bucket === null) return [];
  const imports = { ...dependencies, bucket, rows: importRows };
  return [
    periodicComponent({
      ...uploadExpiryTask({ bucket, rows: uploadRows, log }),
      everyMs: uploadExpiryEveryMs,
      log,
    }),
    periodicComponent({ ...importCleanupTask(imports), everyMs: importCleanupEveryMs, log }),
    ...(config.imports === null
      ? []
      : [importWorker({ ...imports, settings: config.imports, leaseMs: config.leaseMs })]),
  ];
}

/** Drops the profiles of a cluster in which this database was used before: no one keeps them here. */
function withoutClusterProfiles({ profiles }: Pick<ControllerDependencies, 'profiles'>): Component {
  return { name: 'profiles', start: () => profiles.replace([]), stop: () => Promise.resolve() };
}

type WorkerListenerDependencies = Pick<ControllerDependencies, 'config' | 'jobs' | 'metrics' | 'taskEndpoint'> & {
  /** Rejects until the database is reached and migrated, and while it does not answer. */
  readonly checkDatabase: (signal: AbortSignal) => Promise<void>;
};

/** The listener of a process that is a worker alone: it answers before the database does. */
export function workerListener({
  config,
  jobs,
  metrics,
  taskEndpoint,
  checkDatabase,
}: WorkerListenerDependencies): Component {
  const { host, workerMetricsPort: port, webhookSecret } = config;
  if (config.kubernetes === null) return workerListenerComponent({ host, port, metrics });
  const fromRunners = {
    '/reports/': reportHandler({ jobs, webhookSecret }),
    '/batches/': taskRequestHandler({ endpoint: taskEndpoint, webhookSecret }),
  };
  return workerListenerComponent({ host, port, metrics, fromRunners, checkDatabase });
}

/** An image job behind videos begins within this and the start of its pod. */
const admissionPastQueueEveryMs = 1_000;
const gaugesEveryMs = 5_000;
const mediaDeletionEveryMs = 1_000;
const rolloutsEveryMs = 1_000;
const uploadExpiryEveryMs = 60_000;
const importCleanupEveryMs = 10_000;
const cleanupEveryMs = 10 * 60_000;
/** Far longer than a worker that lost a job can still be writing for it. */
const cleanupGraceMs = 60 * 60_000;

function processExecutorOf(dependencies: ExecutorDependencies): ProcessExecutor {
  const { config, runner, randomUuid } = dependencies;
  return new ProcessExecutor(
    {
      concurrency: { default: config.workerConcurrency, 'video:large': config.largeWorkerConcurrency },
      leaseMs: config.leaseMs,
      workDir: config.workDir,
      jobsPerRunner: config.imageJobsPerProcess,
      randomUuid,
    },
    {
      ...dependencies,
      base: {
        ...runner.variables,
        ...toolVariables(config),
        LOG_LEVEL: config.logLevel,
        ...(config.otlpEndpoint === null ? {} : { [runnerVariables.otlpEndpoint]: config.otlpEndpoint }),
      },
      storage: {
        source: storageEnvironment(config.source, 'SOURCE'),
        media: storageEnvironment(config.media, 'MEDIA'),
      },
      baseUrl: config.baseUrl,
      maxFileSizeBytes: config.maxFileSizeBytes,
      stepTimeoutMs: config.jobDeadlineMs,
      attemptsMax: config.jobAttempts,
      chunkSec: config.chunkLengthMs / 1000,
      chunkParallelism: config.chunkParallelism,
    },
  );
}

function toolVariables({ ffmpegPath, ffprobePath, packagerPath }: Config): Record<string, string> {
  return {
    ...(ffmpegPath === null ? {} : { FFMPEG_PATH: ffmpegPath }),
    ...(ffprobePath === null ? {} : { FFPROBE_PATH: ffprobePath }),
    ...(packagerPath === null ? {} : { PACKAGER_PATH: packagerPath }),
  };
}
