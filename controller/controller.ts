import { mkdir } from 'node:fs/promises';
import { queueNames } from '#domain/jobs/routing.ts';
import { runnerVariables } from '#domain/runner/steps.ts';
import type { Config } from '#platform/config/config.ts';
import type { Part } from '#platform/lifecycle/part.ts';
import { storageEnvironment } from '#platform/storage/settings.ts';
import { admissionPart } from './admission/admission.ts';
import type { ControllerDependencies } from './dependencies.ts';
import type { Executor } from './executors/executor.ts';
import { KubernetesExecutor } from './executors/kubernetes/kubernetes-executor.ts';
import { kubernetesDependencies } from './executors/kubernetes/dependencies.ts';
import { ProcessExecutor } from './executors/process/process-executor.ts';
import { removeLeftWorkspaces } from './executors/process/workspaces.ts';
import { leftoverPart } from './leftovers.ts';
import { webhookSenderPart } from './webhooks.ts';
import { queueGaugesPart } from './queue-gauges.ts';
import { reportHandler } from './reports.ts';
import { sweeperPart } from './sweeper.ts';
import { workerListenerPart } from './worker-listener.ts';

/** What the worker consists of, in the order of its start: nothing is admitted before the executor is there. */
export function controllerParts(d: ControllerDependencies): Part[] {
  const { config, jobs, queue, metrics, log, clock } = d;
  const { executor, part } = config.executor === 'kubernetes' ? kubernetesExecutorOf(d) : processExecutorOf(d);
  const reports =
    config.kubernetes === null ? {} : { reports: reportHandler({ jobs, webhookSecret: config.webhookSecret }) };
  return [
    part,
    ...queueNames.map((name) => admissionPart(name, { jobs, queue, executor, log })),
    sweeperPart({
      jobs,
      queue,
      log,
      clock,
      everyMs: config.sweepIntervalMs,
      leaseMs: config.leaseMs,
      ticketAgeMs: config.ticketAgeMs,
    }),
    webhookSenderPart({
      events: d.webhookEvents,
      secret: config.webhookSecret,
      allowedCidrs: config.webhook.allowedCidrs,
      backoffMs: config.webhook.backoffMs,
      log,
      clock,
      random: d.random,
    }),
    leftoverPart({ ...d, everyMs: leftoversEveryMs, graceMs: leftoverGraceMs }),
    queueGaugesPart({ queue, jobs, metrics, log, everyMs: gaugesEveryMs }),
    ...(config.mode === 'worker' && config.workerMetricsPort !== 0
      ? [workerListenerPart({ host: config.host, port: config.workerMetricsPort, metrics, ...reports })]
      : []),
  ];
}

const gaugesEveryMs = 5_000;
const leftoversEveryMs = 10 * 60_000;
/** Far longer than a worker that lost a job can go on writing for it. */
const leftoverGraceMs = 60 * 60_000;

/** An executor, and the part that starts and stops it. */
interface ExecutorAndPart {
  readonly executor: Executor;
  readonly part: Part;
}

function kubernetesExecutorOf(d: ControllerDependencies): ExecutorAndPart {
  const executor = new KubernetesExecutor(kubernetesDependencies(d));
  const part: Part = {
    name: 'executor kubernetes',
    start: () => executor.start(),
    stop: (signal) => executor.stop(signal),
  };
  return { executor, part };
}

function processExecutorOf(d: ControllerDependencies): ExecutorAndPart {
  const { config } = d;
  const executor = new ProcessExecutor(
    {
      concurrency: { default: config.workerConcurrency, 'video:large': config.largeWorkerConcurrency },
      leaseMs: config.leaseMs,
      workDir: config.workDir,
      randomUuid: d.randomUuid,
    },
    {
      ...d,
      base: {
        ...d.runner.variables,
        ...toolVariables(config.toolPaths),
        LOG_LEVEL: config.logLevel,
        ...(config.otlpEndpoint === null ? {} : { [runnerVariables.otlpEndpoint]: config.otlpEndpoint }),
      },
      storage: {
        source: storageEnvironment(config.source, 'SOURCE'),
        media: storageEnvironment(config.media, 'MEDIA'),
      },
      baseUrl: config.baseUrl,
      stepTimeoutMs: config.jobDeadlineMs,
      attemptsMax: config.jobAttempts,
    },
  );
  return { executor, part: executorPart(executor, d) };
}

function toolVariables({ ffmpeg, ffprobe, packager }: Config['toolPaths']): Record<string, string> {
  return {
    ...(ffmpeg === undefined ? {} : { FFMPEG_PATH: ffmpeg }),
    ...(ffprobe === undefined ? {} : { FFPROBE_PATH: ffprobe }),
    ...(packager === undefined ? {} : { PACKAGER_PATH: packager }),
  };
}

function executorPart(executor: Executor, { config, log }: ControllerDependencies): Part {
  return {
    name: `executor ${executor.name}`,
    start: async () => {
      await mkdir(config.workDir, { recursive: true });
      await removeLeftWorkspaces(config.workDir, log);
    },
    stop: (signal) => executor.stop(signal),
  };
}
