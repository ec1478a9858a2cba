import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { keyFileComponents, serverComponents, type ServiceDependencies } from './http-service.ts';
import { controllerComponents, workerListener } from './controller/controller.ts';
import { TaskEndpoint } from './controller/execution/task-requests.ts';
import { type Config, type DeliveryConfig, loadConfig } from './platform/config/config.ts';
import { missingFolders } from './platform/config/missing-folders.ts';
import { helpText } from './platform/config/documentation.ts';
import { sections } from './platform/config/variables.ts';
import { findIsolation, type Isolation } from './platform/commands/isolation.ts';
import { ImageProcessor } from './platform/images/image-processor.ts';
import type { WindowCounter } from './platform/rate-limit/window-counter.ts';
import { openProcessWindowCounter } from './platform/rate-limit/process-window-counter.ts';
import { openRedisWindowCounter } from './platform/rate-limit/redis-window-counter.ts';
import { openTableWindowCounter } from './platform/rate-limit/table-window-counter.ts';
import { KubeClient } from './platform/kubernetes/client.ts';
import { kubeConfigFileCredentials, serviceAccountCredentials } from './platform/kubernetes/credentials.ts';
import type { Component } from './platform/lifecycle/component.ts';
import { Resources } from './platform/lifecycle/resources.ts';
import { runComponents } from './platform/lifecycle/run-components.ts';
import { stopSignal } from './platform/lifecycle/stop-signal.ts';
import { ContentKeyStore } from './platform/postgres/content-key-store.ts';
import { type Database, openDatabase } from './platform/postgres/database.ts';
import { openListDatabase } from './platform/postgres/list-database.ts';
import { ImportStore } from './platform/postgres/import-store.ts';
import { JobStore } from './platform/postgres/job-store.ts';
import { MediaDeletionStore } from './platform/postgres/media-deletion-store.ts';
import { MediaStore } from './platform/postgres/media-store.ts';
import { DeliveredStore } from '#platform/postgres/delivered-store.ts';
import { PlaybackDayStore } from './platform/postgres/playback-day-store.ts';
import { PlaybackStore } from './platform/postgres/playback-store.ts';
import { DeletedMediaStore } from './platform/postgres/deleted-media-store.ts';
import { PoolStore } from './platform/postgres/pool-store.ts';
import { ProfileStore } from './platform/postgres/profile-store.ts';
import { CleanupStore } from './platform/postgres/cleanup-store.ts';
import { DeletionFence } from './platform/postgres/deletion-fence.ts';
import { DueWorkStore } from './platform/postgres/due-work.ts';
import { RolloutStore } from './platform/postgres/rollout-store.ts';
import { RetentionStore } from './platform/postgres/retention-store.ts';
import { UploadStore } from './platform/postgres/upload-store.ts';
import { WebhookEventStore } from './platform/postgres/webhook-event-store.ts';
import { prepareDatabase } from './platform/postgres/prepare-database.ts';
import { checkRedis } from './platform/queue/check-redis.ts';
import { migrateTicketQueue, openPostgresTicketQueue } from './platform/queue/postgres-ticket-queue.ts';
import { openRedisTicketQueue } from './platform/queue/redis-ticket-queue.ts';
import type { TicketQueue } from './platform/queue/ticket-queue.ts';
import type { ObjectStore } from './platform/storage/object-store.ts';
import { openObjectStore } from './platform/storage/open.ts';
import { openUploadBucket } from './platform/storage/upload-bucket.ts';
import { createLogger, type Logger } from './platform/telemetry/logger.ts';
import { Metrics } from './platform/telemetry/metrics.ts';
import { programVersion } from './platform/telemetry/program-version.ts';
import { startTracing } from './platform/telemetry/tracing.ts';

/**
 * The program: configuration, resources, components by mode, then a wait for the signal to stop. Components stop in
 * reverse order, then resources close in reverse order.
 *
 * Exit codes: 0 stopped by a signal, 1 failed, 2 the configuration is wrong, 130 a second signal.
 */
async function main(): Promise<void> {
  const flags = process.argv.slice(2);
  if (flags.includes('--help')) {
    process.stdout.write(helpText(sections));
    return;
  }
  const loaded = loadConfig(process.env, flags);
  if ('faults' in loaded) {
    process.stderr.write(loaded.faults.map((fault) => `${fault}\n`).join(''));
    process.exitCode = 2;
    return;
  }
  const { config, misspelt } = loaded;
  if (flags.includes('--check-config')) {
    for (const { variable, nearest } of misspelt)
      process.stderr.write(`${variable}: is not a known variable; did you mean ${nearest}?\n`);
    const missing = await missingFolders(config);
    process.stderr.write(missing.map((fault) => `${fault}\n`).join(''));
    if (missing.length === 0) process.stdout.write('The configuration is valid.\n');
    else process.exitCode = 2;
    return;
  }
  const log = createLogger({ level: config.logLevel, name: `reelwright-${config.mode}` });
  for (const name of misspelt) log.warn(name, 'unknown variable, probably misspelt');
  const signal = stopSignal(log);
  try {
    await run(config, log, signal);
    log.info('stopped');
  } catch (error) {
    log.fatal({ err: error }, 'process failed');
    process.exitCode = 1;
  }
  // Whatever still keeps the process alive was asked to stop and has missed its deadline.
  process.exit();
}

/** Kubernetes gives a pod 30 s: three are for a worker's child processes, and some for closing resources. */
const stopTimeoutMs = 20_000;

/** Opens what the mode needs, runs its components until `signal` aborts, and closes what was opened. */
async function run(config: Config | DeliveryConfig, log: Logger, signal: AbortSignal): Promise<void> {
  const resources = new Resources();
  try {
    const components = await openComponents(config, { log, resources, signal });
    log.info({ mode: config.mode, version: programVersion() }, 'starting');
    warnOfStaleMasters(config, log);
    warnOfUnsignedImages(config, log);
    await runComponents(components, { log, stopTimeoutMs, signal });
  } finally {
    await resources.closeAll(log);
  }
}

/** A master that caches keep for a year names objects that the retention has deleted by then. */
function warnOfStaleMasters(config: Config | DeliveryConfig, log: Logger): void {
  const { mode, surfaces, revisionRetentionMs, streamMutableCacheControl } = config;
  const isDelivering = mode !== 'worker' && surfaces.has('delivery');
  if (isDelivering && revisionRetentionMs !== null && streamMutableCacheControl === null)
    log.warn({ revision_retention_ms: revisionRetentionMs }, 'streams in caches outlive their objects');
}

/** Whoever reaches this server sees every image whose key he guesses, in any size. */
function warnOfUnsignedImages({ mode, surfaces, thumbUnsigned }: Config | DeliveryConfig, log: Logger): void {
  if (mode !== 'worker' && surfaces.has('delivery') && thumbUnsigned === 'on')
    log.warn('images are served without signatures');
}

interface Process {
  readonly log: Logger;
  readonly resources: Resources;
  readonly signal: AbortSignal;
}

async function openComponents(
  config: Config | DeliveryConfig,
  { log, resources, signal }: Process,
): Promise<readonly Component[]> {
  const tracing = startTracing({ endpoint: config.otlpEndpoint, serviceName: 'reelwright' });
  resources.add('tracing', tracing, () => tracing.shutdown());
  const databaseUrl = await openDatabaseServer(config, resources);
  const database = resources.add(
    'database',
    openDatabase(databaseUrl, { maxConnections: config.databasePoolSize }),
    close,
  );
  const shared = {
    log,
    database,
    images: resources.add(
      'image processor',
      new ImageProcessor({ isolation: await imageIsolation(config, log) }),
      close,
    ),
    metrics: new Metrics(),
    deletedMedia: new DeletedMediaStore(database),
    playbacks: new PlaybackStore(database),
    playbackDays: new PlaybackDayStore(database),
    delivered: new DeliveredStore(database),
    contentKeys: new ContentKeyStore(database, { encryptionKeys: config.encryptionKeys }),
    media: resources.add('media bucket', openObjectStore(config.media), close),
    imageSource:
      config.imageSource === null
        ? null
        : resources.add('source bucket of images', openObjectStore(config.imageSource), close),
    windowCounter: resources.add('window counter', openWindowCounter(config, database), close),
    clock: () => new Date(),
    randomUuid: () => randomUUID(),
    webDir: fileURLToPath(new URL('web', import.meta.url)),
  };
  // Delivery alone writes nothing to the database but the bytes that it sent, and starts while it is away: streams and
  // images do not need it.
  if (config.source === null) return serverComponents({ ...shared, config });
  const preparation = prepareDatabase({
    database,
    ...(config.redis.kind === 'embedded' && { migrateMore: () => migrateTicketQueue(databaseUrl) }),
    log,
    signal,
  });
  const dependencies: WholeDependencies = {
    ...shared,
    checkDatabase: preparation.check,
    listDatabase: resources.add('database of lists', openListDatabase(databaseUrl), close),
    config,
    jobs: new JobStore(database),
    library: new MediaStore(database),
    rollouts: new RolloutStore(database),
    deletions: new MediaDeletionStore(database),
    profiles: new ProfileStore(database),
    pools: new PoolStore(database),
    queue: resources.add('queue', openQueue(config, databaseUrl, log), close),
    source: resources.add('source bucket', openObjectStore(config.source), close),
    uploads: config.uploads === null ? null : resources.add('upload bucket', openUploadBucket(config.uploads), close),
    taskEndpoint: new TaskEndpoint(),
  };
  void reportMissingRights(dependencies.source, config.source.bucket, log);
  void reportMissingRights(dependencies.media, config.media.bucket, log);
  // The listeners start first, so that the process is alive and not ready while it waits for the database.
  return [
    ...(config.mode === 'worker' ? [] : serverComponents(dependencies)),
    ...(config.mode === 'worker' && config.workerMetricsPort !== 0 ? [workerListener(dependencies)] : []),
    ...redisCheck(config, log),
    preparation.component,
    ...(config.mode === 'worker' ? [] : keyFileComponents(dependencies)),
    ...(config.mode === 'server' ? [] : await openControllerComponents(dependencies, resources)),
  ];
}

/** Only a server makes images while a client waits. */
async function imageIsolation({ mode }: Pick<Config, 'mode'>, log: Logger): Promise<Isolation> {
  if (mode === 'worker') return [];
  const found = await findIsolation({ env: { PATH: process.env['PATH'] ?? '' }, readOnly: null });
  if ('isolation' in found) return found.isolation;
  // Usual in containers, which are the boundary then.
  log.info({ reason: found.reason }, 'image isolation unavailable');
  return [];
}

function redisCheck({ redis }: Config, log: Logger): readonly Component[] {
  if (redis.kind !== 'redis') return [];
  return [{ name: 'redis', start: () => checkRedis(redis.url, log), stop: () => Promise.resolve() }];
}

/** Without the right to list, a wrong permission looks like a missing object: an operator should know. */
async function reportMissingRights(store: ObjectStore, bucket: string, log: Logger): Promise<void> {
  const rights = await store.missingRights().catch(() => []);
  for (const right of rights) log.warn({ bucket, right }, 'storage right missing');
}

/** The dependencies that a server with the surface `api` and a worker share. */
type WholeDependencies = ServiceDependencies & {
  readonly config: Config;
  readonly taskEndpoint: TaskEndpoint;
  readonly checkDatabase: (signal: AbortSignal) => Promise<void>;
};

/** The components of a worker, and what only they need. */
async function openControllerComponents(
  dependencies: WholeDependencies,
  resources: Resources,
): Promise<readonly Component[]> {
  const { config, database } = dependencies;
  const kubernetes =
    config.kubernetes === null
      ? {}
      : { kubernetes: { client: resources.add('API server', await openKubeClient(config.kubernetes), close) } };
  return controllerComponents({
    ...dependencies,
    ...kubernetes,
    poolCopy: new PoolStore(database),
    webhookEvents: new WebhookEventStore(database),
    cleanup: new CleanupStore(database),
    fence: new DeletionFence(database),
    retention: new RetentionStore(database),
    uploadRows: new UploadStore(database),
    importRows: new ImportStore(database),
    dueWork: new DueWorkStore(database),
    random: () => Math.random(),
    runner: {
      program: process.execPath,
      script: fileURLToPath(new URL('runner/main.ts', import.meta.url)),
      variables: runnerVariables(config),
    },
  });
}

/** The variables that a runner inherits from this process. */
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

/** The URL of the database; the embedded one is started first. The images of production do not contain it. */
async function openDatabaseServer({ databaseUrl }: Pick<Config, 'databaseUrl'>, resources: Resources): Promise<string> {
  if (databaseUrl.kind === 'postgres') return databaseUrl.url;
  const { startEmbeddedPostgres } = await import('./platform/embedded-postgres/embedded.ts');
  const server = await startEmbeddedPostgres({ dir: databaseUrl.dir });
  return resources.add('embedded database', server, () => server.stop()).url;
}

function openQueue({ redis }: Config, databaseUrl: string, log: Logger): TicketQueue {
  return redis.kind === 'redis'
    ? openRedisTicketQueue({ url: redis.url, log })
    : openPostgresTicketQueue({ databaseUrl, log });
}

/** Delivery alone counts by itself where it has no Redis: a table would make it write to the database. */
function openWindowCounter({ redis, source }: Config | DeliveryConfig, database: Database): WindowCounter {
  if (redis?.kind === 'redis') return openRedisWindowCounter({ url: redis.url });
  return source === null ? openProcessWindowCounter(() => new Date()) : openTableWindowCounter(database);
}

await main();
