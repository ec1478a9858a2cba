import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { httpServiceOptions, type ServiceDependencies } from './http-service.ts';
import { httpServerComponent } from './platform/http/server.ts';
import { controllerComponents } from './controller/controller.ts';
import { type Config, type DeliveryConfig, loadConfig } from './platform/config/config.ts';
import { ImageProcessor } from './platform/images/image-processor.ts';
import type { WindowCounter } from './platform/rate-limit/window-counter.ts';
import { openProcessWindowCounter } from './platform/rate-limit/process-window-counter.ts';
import { openRedisWindowCounter } from './platform/rate-limit/redis-window-counter.ts';
import { openTableWindowCounter } from './platform/rate-limit/table-window-counter.ts';
import { KubeClient } from './platform/kubernetes/client.ts';
import { kubeConfigFileCredentials, serviceAccountCredentials } from './platform/kubernetes/credentials.ts';
import type { Component } from './platform/lifecycle/component.ts';
import { runComponents } from './platform/lifecycle/run-components.ts';
import { ContentKeyStore } from './platform/postgres/content-key-store.ts';
import { type Database, migrate, openDatabase } from './platform/postgres/database.ts';
import { startEmbeddedPostgres } from './platform/embedded-postgres/embedded.ts';
import { JobStore } from './platform/postgres/job-store.ts';
import { CleanupStore } from './platform/postgres/cleanup-store.ts';
import { WebhookEventStore } from './platform/postgres/webhook-event-store.ts';
import { openPostgresTicketQueue } from './platform/queue/postgres-ticket-queue.ts';
import { openRedisTicketQueue } from './platform/queue/redis-ticket-queue.ts';
import type { TicketQueue } from './platform/queue/ticket-queue.ts';
import { openObjectStore } from './platform/storage/open.ts';
import { createLogger, type Logger } from './platform/telemetry/logger.ts';
import { Metrics } from './platform/telemetry/metrics.ts';
import { startTracing } from './platform/telemetry/tracing.ts';

/**
 * The program: configuration, then parts by mode, then waiting to be told to stop. Everything is built by hand here,
 * from the outside in, and closed in reverse.
 *
 * Exit codes: 0 stopped as asked, 1 it could not go on, 2 the configuration is wrong, 130 told twice to stop.
 */

/** What is left of Kubernetes' 30 seconds once a worker's children have had their three. */
const stopTimeoutMs = 20_000;

async function main(): Promise<void> {
  const loaded = loadConfig(process.env, process.argv.slice(2));
  if ('faults' in loaded) {
    process.stderr.write(loaded.faults.map((fault) => `${fault}\n`).join(''));
    process.exitCode = 2;
    return;
  }
  const { config } = loaded;
  const log = createLogger({ level: config.logLevel, name: `reelwright-${config.mode}` });
  const signal = stopSignal(log);
  try {
    await run(config, log, signal);
    log.info('stopped');
  } catch (error) {
    log.fatal({ err: error }, 'the process cannot go on');
    process.exitCode = 1;
  }
  // Whatever still holds the process open has been told to stop, and the deadline is over.
  process.exit();
}

/** Aborts at the first SIGTERM or SIGINT, and at an error that nobody caught; the second signal ends the process at once. */
function stopSignal(log: Logger): AbortSignal {
  const stopping = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(130);
      log.info({ signal: name }, 'stopping');
      stopping.abort();
    });
  }
  for (const name of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(name, (error: unknown) => {
      log.fatal({ err: error }, `an error that nobody caught (${name})`);
      process.exitCode = 1;
      stopping.abort();
    });
  }
  return stopping.signal;
}

/** Opens what the mode needs, runs its parts until `signal` aborts, and closes what was opened. */
async function run(config: Config | DeliveryConfig, log: Logger, signal: AbortSignal): Promise<void> {
  const opened: Opened[] = [];
  const open = <T>(name: string, resource: T, closeIt: (resource: T) => Promise<void>): T => {
    opened.push({ name, close: () => closeIt(resource) });
    return resource;
  };
  try {
    const parts = await openComponents(config, log, open);
    log.info({ mode: config.mode }, 'starting');
    await runComponents(parts, { log, stopTimeoutMs, signal });
  } finally {
    for (const resource of opened.toReversed()) await closeInTime(resource, log);
  }
}

/** What a resource may take to close once everything that used it has stopped. */
const closeTimeoutMs = 5_000;

async function closeInTime({ name, close: closeIt }: Opened, log: Logger): Promise<void> {
  const late = sleep(closeTimeoutMs, undefined, { ref: false }).then(() => Promise.reject(new Error('no end')));
  try {
    await Promise.race([closeIt(), late]);
  } catch (error) {
    log.warn({ err: error, resource: name }, 'a resource did not close cleanly');
  }
}

/** A resource that is open and must be closed. */
interface Opened {
  readonly name: string;
  readonly close: () => Promise<void>;
}

type Open = <T>(name: string, resource: T, close: (resource: T) => Promise<void>) => T;

async function openComponents(config: Config | DeliveryConfig, log: Logger, open: Open): Promise<Component[]> {
  open('tracing', startTracing({ endpoint: config.otlpEndpoint, serviceName: 'reelwright' }), (it) => it.shutdown());
  const databaseUrl = await openDatabaseServer(config, open);
  const database = open('database', openDatabase(databaseUrl), close);
  const shared = {
    log,
    database,
    images: open('image processor', new ImageProcessor(), close),
    metrics: new Metrics(),
    contentKeys: new ContentKeyStore(database, { encryptionKeys: config.encryptionKeys }),
    media: open('media bucket', openObjectStore(config.media), close),
    clock: () => new Date(),
    randomUuid: () => randomUUID(),
    webDir: fileURLToPath(new URL('web', import.meta.url)),
  };
  // Delivery alone writes nothing to the database and starts without it: streams and images need none.
  if (config.source === null)
    return [
      httpServerComponent(
        httpServiceOptions({
          ...shared,
          config,
          keyValues: open('key-value store', openDeliveryKeyValues(config), close),
        }),
      ),
    ];
  await migrate(database);
  const whole: Whole = {
    ...shared,
    config,
    jobs: new JobStore(database),
    queue: open('queue', openQueue(config, databaseUrl, log), close),
    keyValues: open('key-value store', openKeyValues(config, database), close),
    source: open('source bucket', openObjectStore(config.source), close),
  };
  return [
    ...(config.mode === 'server' ? [] : await openControllerComponents(whole, open)),
    ...(config.mode === 'worker' ? [] : [httpServerComponent(httpServiceOptions(whole))]),
  ];
}

/** What a server and a worker share. */
type Whole = ServiceDependencies & { readonly config: Config };

/** The parts of a worker, and what only they need. */
async function openControllerComponents(whole: Whole, open: Open): Promise<readonly Component[]> {
  const { config, database, source } = whole;
  const kubernetes =
    config.kubernetes === null
      ? {}
      : { kubernetes: { client: open('API server', await openKubeClient(config.kubernetes), close), source } };
  return controllerComponents({
    ...whole,
    ...kubernetes,
    webhookEvents: new WebhookEventStore(database),
    cleanup: new CleanupStore(database),
    random: () => Math.random(),
    runner: {
      program: process.execPath,
      script: fileURLToPath(new URL('runner/main.ts', import.meta.url)),
      variables: runnerVariables(config),
    },
  });
}

/** The little of this process's own environment that a runner sees. */
function runnerVariables({ x264Preset }: Config): Record<string, string> {
  const { PATH: path } = process.env;
  return {
    ...(path === undefined ? {} : { PATH: path }),
    ...(x264Preset === null ? {} : { X264_PRESET: x264Preset }),
  };
}

function close(resource: { close(): Promise<void> }): Promise<void> {
  return resource.close();
}

/** A client of the API server that this process runs under, or that a kubeconfig names. */
async function openKubeClient({ access }: NonNullable<Config['kubernetes']>): Promise<KubeClient> {
  return new KubeClient(
    access.kind === 'service account'
      ? serviceAccountCredentials(access)
      : await kubeConfigFileCredentials(access.paths),
  );
}

async function openDatabaseServer({ databaseUrl }: Config | DeliveryConfig, open: Open): Promise<string> {
  if (databaseUrl.kind === 'postgres') return databaseUrl.url;
  const embedded = await startEmbeddedPostgres({ dir: databaseUrl.dir });
  return open('embedded database', embedded, (it) => it.stop()).url;
}

function openQueue({ redis }: Config, databaseUrl: string, log: Logger): TicketQueue {
  return redis.kind === 'redis'
    ? openRedisTicketQueue({ url: redis.url, log })
    : openPostgresTicketQueue({ databaseUrl, log });
}

function openKeyValues({ redis }: Config, database: Database): WindowCounter {
  return redis.kind === 'redis' ? openRedisWindowCounter({ url: redis.url }) : openTableWindowCounter(database);
}

/** Its windows are its own where it has no Redis: a table would have it write to the database. */
function openDeliveryKeyValues({ redis }: DeliveryConfig): WindowCounter {
  return redis?.kind === 'redis'
    ? openRedisWindowCounter({ url: redis.url })
    : openProcessWindowCounter(() => new Date());
}

await main();
