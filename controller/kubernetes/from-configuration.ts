import { poolOfQueue } from '#domain/jobs/routing.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { runnerVariables } from '#domain/work/steps.ts';
import type { Config } from '#platform/config/config.ts';
import type { RunnerPoolSettings } from '#platform/config/kubernetes-variables.ts';
import { storageEnvironment, type StorageName, type StorageSettings } from '#platform/config/storage-settings.ts';
import type { ExecutorDependencies } from '../dependencies.ts';
import type { MediaJobDependencies } from './leader/dependencies.ts';
import { OwnMark } from './manifests/own-mark.ts';
import { PoolTurns } from '../execution/pool-turns.ts';
import { leaseOwner } from './slots/claimed-jobs.ts';
import { reportSecretOf, reportTokenOf } from '../execution/reports.ts';
import { tasksPath, taskTokenOf } from '../execution/task-requests.ts';

/** The dependencies of the Kubernetes executor, from the worker's. */
export function kubernetesDependencies(dependencies: ExecutorDependencies): MediaJobDependencies {
  const { config, kubernetes: clients, runner } = dependencies;
  const { kubernetes } = config;
  if (kubernetes === null || clients === undefined) throw new TypeError('the kubernetes executor is not configured');
  const { runnerNamespace, podName, podNamespace, reportUrl, pendingDeadlineMs, mediaJobTtlMs, queuedMediaJobsMax } =
    kubernetes;
  const reportSecret = reportSecretOf(config.webhookSecret);
  const { X264_PRESET: preset } = runner.variables;
  return {
    ...dependencies,
    ...clients,
    turns: new PoolTurns({ jobs: dependencies.jobs, owner: leaseOwner, now: () => performance.now() }),
    runnerNamespace,
    podName,
    podNamespace,
    pendingDeadlineMs,
    mediaJobTtlMs,
    queuedMediaJobsMax,
    attemptsMax: config.jobAttempts,
    config,
    webhookCidrs: config.webhookAllowedCidrs,
    baseUrl: config.baseUrl,
    mark: new OwnMark(config.encryptionKeys),
    pools: poolsOf(config, kubernetes.runnerPools ?? {}),
    template: {
      image: {
        name: kubernetes.runnerImage,
        pullPolicy: kubernetes.runnerImagePullPolicy,
        pullSecrets: kubernetes.runnerImagePullSecrets,
      },
      serviceAccount: kubernetes.runnerServiceAccount,
      pod: kubernetes.runnerPod,
      caConfigMap: kubernetes.runnerCaConfigMap,
      base: {
        LOG_LEVEL: config.logLevel,
        ...(preset === undefined ? {} : { X264_PRESET: preset }),
        ...(config.otlpEndpoint === null ? {} : { [runnerVariables.otlpEndpoint]: config.otlpEndpoint }),
      },
      storage: { source: withoutKeys(config.source, 'SOURCE'), media: withoutKeys(config.media, 'MEDIA') },
      credentials: { source: kubernetes.runnerSourceSecret, media: kubernetes.runnerMediaSecret },
      maxFileSizeBytes: config.maxFileSizeBytes,
      chunkSec: config.chunkLengthMs / 1000,
      pendingDeadlineMs,
      ttlMs: mediaJobTtlMs,
    },
    batchSettings:
      reportUrl === null || kubernetes.imageBatchMin === 0 || config.imageJobsPerProcess === 1
        ? null
        : {
            min: kubernetes.imageBatchMin,
            tasksMax: config.imageJobsPerProcess,
            tasksOf: (batchId) => ({
              url: `${reportUrl}${tasksPath(batchId)}`,
              token: taskTokenOf(batchId, reportSecret),
            }),
          },
    reportFor: ({ jobId, attempt }) =>
      reportUrl === null
        ? null
        : {
            url: `${reportUrl}/reports/${jobId}/${attempt}`,
            token: reportTokenOf({ jobId, attempt }, reportSecret),
          },
  };
}

/** The pools of the settings, and the two of the queues where the settings leave them out or do not size them. */
function poolsOf(config: Config, given: Readonly<Record<string, RunnerPoolSettings>>): Record<string, RunnerPoolSpec> {
  const standard: Record<string, RunnerPoolSpec> = {
    [poolOfQueue.default]: { concurrency: config.workerConcurrency },
    [poolOfQueue['video:large']]: { concurrency: config.largeWorkerConcurrency },
  };
  const sized = Object.entries(given).map(([name, spec]) => [name, { concurrency: 1, ...standard[name], ...spec }]);
  return { ...standard, ...(Object.fromEntries(sized) as Record<string, RunnerPoolSpec>) };
}

/** A store's settings for a pod without credentials, which come by Secret or by the pod's own identity. */
function withoutKeys(settings: StorageSettings, which: StorageName): Record<string, string> {
  const { s3 } = settings;
  if (s3 === undefined) return storageEnvironment(settings, which);
  return storageEnvironment({ ...settings, s3: { ...s3, keys: undefined, chainVariables: {} } }, which);
}
