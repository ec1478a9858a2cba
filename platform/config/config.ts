import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { X264Preset } from '#domain/media/profiles.ts';
import { parseStorageSettings, type StorageSettings } from './storage-settings.ts';
import { type Environment, isGiven, readSettings } from './settings.ts';
import type { LogLevel } from '../telemetry/logger.ts';
import { kubernetesConfig, type KubernetesConfig, kubernetesSettings } from './kubernetes-settings.ts';
import { secretSettings } from './secret-settings.ts';
import { serverSettings, type Surface } from './server-settings.ts';
import { type DatabaseUrl, modes, type RedisUrl, serviceSettings } from './service-settings.ts';
import { workerSettings } from './worker-settings.ts';

/**
 * What a process of this program is told. Lengths in bytes and milliseconds.
 *
 * A secret that neither the mode nor the surfaces need may be missing: a list is then empty, and a single secret is
 * random, so that a mistaken use of it opens nothing.
 */
export interface Config {
  readonly mode: (typeof modes)[number];
  readonly host: string;
  readonly port: number;
  readonly surfaces: ReadonlySet<Surface>;
  readonly executor: 'kubernetes' | 'process';
  /** Null unless the executor is `kubernetes`, and this process is a worker. */
  readonly kubernetes: KubernetesConfig | null;
  readonly databaseUrl: DatabaseUrl;
  readonly redis: RedisUrl;
  readonly source: StorageSettings;
  readonly media: StorageSettings;
  readonly apiKeys: readonly string[];
  readonly keyTokenSecret: string;
  readonly webhookSecret: string;
  readonly encryptionKeys: readonly string[];
  /** Empty when `THUMB_SECRET` is not set: the secret is then derived from `keyTokenSecret` (decisions.md). */
  readonly thumbSecrets: readonly string[];
  /** '' in a process that needs none. */
  readonly baseUrl: string;
  readonly maxFileSizeBytes: number;
  readonly largeVideoThresholdBytes: number;
  readonly workerConcurrency: number;
  readonly largeWorkerConcurrency: number;
  /** 0: no listener. */
  readonly workerMetricsPort: number;
  readonly otlpEndpoint: string | null;
  readonly webhook: {
    readonly allowedCidrs: readonly string[];
    /** What is waited before each attempt; as many attempts as there are numbers. */
    readonly backoffMs: readonly number[];
  };
  /** CIDRs. */
  readonly trustedProxies: readonly string[];
  /** An absolute path. */
  readonly workDir: string;
  readonly toolPaths: { readonly ffmpeg?: string; readonly ffprobe?: string; readonly packager?: string };
  /** Null: the encoding profile's own. */
  readonly x264Preset: X264Preset | null;
  readonly logLevel: LogLevel;
  readonly apiRateLimitPerMinute: number;
  readonly keyRateLimitPerMinute: number;
  /** Of what delivery keeps in memory, apart from image variants. */
  readonly deliveryCacheBytesMax: number;
  readonly jobAttempts: number;
  readonly jobDeadlineMs: number;
  readonly leaseMs: number;
  readonly sweepIntervalMs: number;
  readonly ticketAgeMs: number;
}

/**
 * What a server of the surface `delivery` alone is told: it knows no source bucket, and without a key-value store each
 * process counts its limits by itself.
 */
export interface DeliveryConfig extends Omit<Config, 'source' | 'redis'> {
  readonly source: null;
  readonly redis: RedisUrl | null;
}

/** The configuration, or every fault at once: the variable, what was expected, never a secret's value. */
export type LoadedConfig = { readonly config: Config | DeliveryConfig } | { readonly faults: readonly string[] };

/**
 * Loads the configuration; pure but for reading the files that `<NAME>_FILE` names.
 *
 * @param argv the flags alone; `--mode=` is the only one
 */
export function loadConfig(env: Environment, argv: readonly string[]): LoadedConfig {
  const flags = readFlags(argv);
  const envWithFlags = { ...env, ...flags.variables };
  const service = readSettings(serviceSettings, envWithFlags);
  const server = readSettings(serverSettings, env);
  const secrets = readSettings(secretSettings, env);
  const worker = readSettings(workerSettings, env);
  // Read by themselves, so that another setting's fault does not hide what is missing.
  const mode = readSettings(serviceSettings.pick({ MODE: true }), envWithFlags).values?.MODE;
  const surfaces = readSettings(serverSettings.pick({ SERVER_SURFACES: true }), env).values?.SERVER_SURFACES;
  const isDeliveryAlone = mode === 'server' && surfaces !== undefined && !surfaces.has('api');
  const source = isDeliveryAlone ? noSource : parseStorageSettings(env, 'SOURCE');
  const media = parseStorageSettings(env, 'MEDIA');
  const kube = readSettings(kubernetesSettings, env);
  const faults = [flags, service, server, secrets, worker, source, media, kube].flatMap((read) =>
    'faults' in read && read.faults !== undefined ? read.faults : [],
  );
  // Tickets need a place; delivery alone counts its limit in each process without. Told also where the mode is wrong.
  if (!isDeliveryAlone && !isGiven(env, 'REDIS_URL')) faults.push('REDIS_URL: is required');
  if (mode !== undefined && surfaces !== undefined) faults.push(...missing(mode, surfaces, env));
  if (secrets.values !== undefined) faults.push(...equalSecrets(secrets.values));
  const isWhole =
    service.values !== undefined &&
    server.values !== undefined &&
    secrets.values !== undefined &&
    worker.values !== undefined &&
    kube.values !== undefined &&
    'settings' in source &&
    'settings' in media;
  if (!isWhole || faults.length > 0) return { faults };
  const workers = workerConfig(worker.values, env);
  const hasKeys = {
    source: source.settings?.s3?.keys !== undefined,
    media: media.settings.s3?.keys !== undefined,
  };
  const isNeeded = workers.executor === 'kubernetes' && service.values.MODE !== 'server';
  const found = isNeeded ? kubernetesConfig({ values: kube.values, env, hasKeys }) : { kubernetes: null };
  if ('faults' in found) return { faults: found.faults };
  const shared = {
    ...serviceConfig(service.values),
    ...serverConfig(server.values),
    ...secretConfig(secrets.values),
    ...workers,
    ...found,
    media: media.settings,
  };
  const redis = service.values.REDIS_URL ?? null;
  // Both are there: `missing` has told of them otherwise.
  if (source.settings !== null && redis !== null) return { config: { ...shared, source: source.settings, redis } };
  return { config: { ...shared, source: null, redis } };
}

const noSource = { settings: null } as const;

function readFlags(argv: readonly string[]): { variables: Record<string, string>; faults: string[] } {
  const variables: Record<string, string> = {};
  const faults: string[] = [];
  for (const flag of argv) {
    const mode = /^--mode=(.*)$/s.exec(flag)?.[1];
    if (mode === undefined) faults.push(`${flag.split('=')[0]}: is not a known flag; the only one is --mode=`);
    else if (mode === '') faults.push(`--mode: expected one of ${modes.join(', ')}`);
    else variables['MODE'] = mode;
  }
  return { variables, faults };
}

type Secrets = ReturnType<typeof secretSettings.parse>;
type Needed = 'API_KEY' | 'KEY_TOKEN_SECRET' | 'WEBHOOK_SECRET' | 'ENCRYPTION_KEY' | 'BASE_URL';

/** A fault for each setting that the mode and the surfaces need and that is not there. */
function missing(mode: Config['mode'], surfaces: ReadonlySet<Surface>, env: Environment): string[] {
  const isWorker = mode !== 'server';
  const hasApi = mode !== 'worker' && surfaces.has('api');
  const hasDelivery = mode !== 'worker' && surfaces.has('delivery');
  const isNeeded: Record<Needed, boolean> = {
    API_KEY: hasApi,
    KEY_TOKEN_SECRET: hasDelivery,
    WEBHOOK_SECRET: isWorker,
    // The worker wraps content keys, the key endpoint unwraps them.
    ENCRYPTION_KEY: isWorker || hasDelivery,
    BASE_URL: isWorker || hasApi,
  };
  const names = (Object.keys(isNeeded) as Needed[]).filter((name) => isNeeded[name] && !isGiven(env, name));
  return names.map((name) => `${name}: is required`);
}

/** A fault for each pair of equal secrets: who learns one must not have learnt the other. */
function equalSecrets(secrets: Secrets): string[] {
  const values = Object.entries(secrets).flatMap(([name, value]) =>
    [value ?? []].flat().map((secret) => ({ name, secret })),
  );
  const faults = values.flatMap(({ name, secret }, index) => {
    const earlier = values.slice(0, index).find((other) => other.secret === secret);
    if (earlier === undefined) return [];
    return [`${name}: expected ${earlier.name === name ? 'keys that differ' : `another value than ${earlier.name}`}`];
  });
  return [...new Set(faults)];
}

function serviceConfig(values: ReturnType<typeof serviceSettings.parse>) {
  return {
    mode: values.MODE,
    databaseUrl: values.DATABASE_URL,
    logLevel: values.LOG_LEVEL,
    otlpEndpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
  };
}

function serverConfig(values: ReturnType<typeof serverSettings.parse>) {
  return {
    host: values.HOST,
    port: values.PORT,
    surfaces: values.SERVER_SURFACES,
    baseUrl: values.BASE_URL ?? '',
    trustedProxies: values.TRUSTED_PROXIES ?? [],
    apiRateLimitPerMinute: values.API_RATE_LIMIT_PER_MINUTE,
    keyRateLimitPerMinute: values.KEY_RATE_LIMIT_PER_MINUTE,
    deliveryCacheBytesMax: values.DELIVERY_CACHE_SIZE,
  };
}

function secretConfig(values: Secrets) {
  return {
    apiKeys: values.API_KEY ?? [],
    keyTokenSecret: values.KEY_TOKEN_SECRET ?? nobodysSecret(),
    webhookSecret: values.WEBHOOK_SECRET ?? nobodysSecret(),
    encryptionKeys: values.ENCRYPTION_KEY ?? [],
    thumbSecrets: values.THUMB_SECRET ?? [],
  };
}

function nobodysSecret(): string {
  return randomBytes(32).toString('base64url');
}

function workerConfig(values: ReturnType<typeof workerSettings.parse>, env: Environment) {
  const { FFMPEG_PATH: ffmpeg, FFPROBE_PATH: ffprobe, PACKAGER_PATH: packager } = values;
  // Set by Kubernetes in every container of a pod.
  const isInCluster = env['KUBERNETES_SERVICE_HOST'] !== undefined;
  return {
    maxFileSizeBytes: values.MAX_FILE_SIZE,
    largeVideoThresholdBytes: values.LARGE_VIDEO_THRESHOLD,
    executor: values.EXECUTOR ?? (isInCluster ? ('kubernetes' as const) : ('process' as const)),
    workerConcurrency: values.WORKER_CONCURRENCY,
    largeWorkerConcurrency: values.LARGE_WORKER_CONCURRENCY,
    workerMetricsPort: values.WORKER_METRICS_PORT,
    jobAttempts: values.JOB_ATTEMPTS,
    jobDeadlineMs: values.JOB_DEADLINE,
    leaseMs: values.LEASE_DURATION,
    sweepIntervalMs: values.SWEEP_INTERVAL,
    ticketAgeMs: values.TICKET_AGE,
    workDir: resolve(values.WORK_DIR ?? env['TMPDIR'] ?? '/tmp'),
    toolPaths: {
      ...(ffmpeg === undefined ? {} : { ffmpeg }),
      ...(ffprobe === undefined ? {} : { ffprobe }),
      ...(packager === undefined ? {} : { packager }),
    },
    x264Preset: values.X264_PRESET ?? null,
    webhook: { allowedCidrs: values.WEBHOOK_ALLOWED_CIDRS ?? [], backoffMs: values.WEBHOOK_BACKOFF },
  };
}
