import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { builtInMediaProfiles, x264Presets } from '#domain/media/profiles.ts';
import { logLevels } from '../telemetry/logger.ts';
import { kubernetesVariables } from './kubernetes-variables.ts';
import { eventRulesValue } from './event-rules.ts';
import { importVariables } from './import-settings.ts';
import { mediaProfilesValue } from './media-profiles.ts';
import { thumbPresetsValue, thumbSourcesValue } from './thumb-settings.ts';
import { mediaVariables, storageVariables } from './storage-settings.ts';
import { uploadVariables } from './upload-settings.ts';
import {
  baseUrlValue,
  booleanValue,
  cidrsValue,
  durationsValue,
  headerValue,
  hostValue,
  httpUrlValue,
  integerValue,
  pathValue,
  positiveDurationValue,
  secretsValue,
  secretValue,
  sizeValue,
  type TextValue,
  timerValue,
  urlValue,
  wordsValue,
  wordValue,
} from './values.ts';
import { declareFor, everyRole, modes } from './variable.ts';

// Every variable, in the sections of docs/reference/configuration.md. Sizes are bytes and durations milliseconds,
// unless the field's name says otherwise.

const surfaces = ['api', 'delivery'] as const;
const consoleChoices = ['off', 'on', 'home'] as const;

/** Where the rows are: a server, or a PostgreSQL that is started on a folder (an absolute path). */
export type DatabaseUrl =
  { readonly kind: 'postgres'; readonly url: string } | { readonly kind: 'embedded'; readonly dir: string };

/** Where tickets and counters are: a server, or the database. */
export type RedisUrl = { readonly kind: 'redis'; readonly url: string } | { readonly kind: 'embedded' };

const postgresUrl = urlValue('postgres://… or embedded:DIR', ['postgres:', 'postgresql:']);
const databaseUrlValue: TextValue<DatabaseUrl> = {
  expected: postgresUrl.expected,
  read: (text) => {
    const dir = /^embedded:(.+)$/.exec(text)?.[1];
    if (dir !== undefined) return { kind: 'embedded', dir: resolve(dir) };
    const url = postgresUrl.read(text);
    return url === null ? null : { kind: 'postgres', url };
  },
};

const redisServerUrl = urlValue('redis://…, rediss://… or embedded:', ['redis:', 'rediss:']);
const redisUrlValue: TextValue<RedisUrl> = {
  expected: redisServerUrl.expected,
  read: (text) => {
    if (text === 'embedded:') return { kind: 'embedded' };
    const url = redisServerUrl.read(text);
    return url === null ? null : { kind: 'redis', url };
  },
};

const absolutePathValue: TextValue<string> = { ...pathValue, read: (text) => resolve(text) };
const portValue = integerValue(0, 65_535);
const ratePerMinute = integerValue(1, 1_000_000);
const concurrencyValue = integerValue(1, 10_000);
/** The most attempts that a webhook may have (docs/reference/contract.md, "Attempts"). */
const webhookAttemptsMax = 5;

const none = () => [] as const;
const nothing = () => null;
/** In a process that does not need the secret: a mistaken use of it then accepts nothing. */
const unusableSecret = () => randomBytes(32).toString('base64url');

const forAll = declareFor(...everyRole);
const forServer = declareFor('api', 'delivery');
const forApi = declareFor('api');
const forDelivery = declareFor('delivery');
const forJobs = declareFor('api', 'worker');
const forKeys = declareFor('delivery', 'worker');
const forWorker = declareFor('worker');

const processVariables = {
  mode: forAll('MODE', wordValue(modes), {
    default: 'all',
    doc: '`all`, `server` or `worker`; `--mode=` wins over it.',
  }),
  databaseUrl: forAll('DATABASE_URL', databaseUrlValue, {
    isSecret: true,
    doc: '`postgres://…`, or `embedded:DIR`: a PostgreSQL from npm, started on that folder.',
  }),
  databasePoolSize: forAll('DATABASE_POOL_SIZE', integerValue(2, 1_000), {
    default: '10',
    doc: 'Connections to the database; surface `api` opens two more for lists.',
  }),
  redis: forAll('REDIS_URL', redisUrlValue, {
    requiredBy: ['api', 'worker'],
    absent: nothing,
    isSecret: true,
    doc: '`redis://…` or `rediss://…`, or `embedded:`: queue and counters in the database.',
  }),
  logLevel: forAll('LOG_LEVEL', wordValue(logLevels), {
    default: 'info',
    doc: `One of ${logLevels.join(', ')}.`,
  }),
  otlpEndpoint: forAll('OTEL_EXPORTER_OTLP_ENDPOINT', httpUrlValue, {
    defaultDoc: 'no export',
    absent: nothing,
    doc: 'OTLP/HTTP collector for traces.',
  }),
};

const serverVariables = {
  host: forAll('HOST', hostValue, { default: '0.0.0.0', doc: 'Address that the listeners bind.' }),
  port: forServer('PORT', portValue, {
    default: '3000',
    doc: 'Port of the main listener; `0` takes a free one.',
  }),
  probePort: forServer('PROBE_PORT', portValue, {
    default: '0',
    doc: 'Port of a separate listener for the probes of Kubernetes; `0` opens none. With it a server that stops first moves its clients to others, for up to ten seconds.',
  }),
  surfaces: forServer('SERVER_SURFACES', wordsValue(surfaces), {
    default: 'api,delivery',
    doc: 'Routes of a server: `api` (jobs), `delivery` (streams, keys, images).',
  }),
  baseUrl: forJobs('BASE_URL', baseUrlValue, {
    isRequired: true,
    absent: () => '',
    doc: 'Public address of the media host without a final `/`; `results.encryption.key_endpoint` begins with it.',
  }),
  trustedProxies: forServer('TRUSTED_PROXIES', cidrsValue, {
    defaultDoc: 'none',
    absent: none,
    doc: 'Networks (CIDR) whose `X-Forwarded-For` is believed.',
  }),
  apiRateLimitPerMinute: forApi('API_RATE_LIMIT_PER_MINUTE', ratePerMinute, {
    default: '30',
    doc: 'Submissions, retries and reruns a minute for each API key; uploads, imports and rollouts have as many each, notifications of the bucket 40 times as many.',
  }),
  batchRateLimitPerMinute: forApi('BATCH_RATE_LIMIT_PER_MINUTE', ratePerMinute, {
    default: '10',
    doc: 'Batches of up to 500 submissions a minute for each API key.',
  }),
  repairMissing: forApi('REPAIR_MISSING', booleanValue, {
    default: 'false',
    doc: 'Whether a submission makes a completed job again whose results are missing.',
  }),
  console: forApi('CONSOLE', wordValue(consoleChoices), {
    default: 'off',
    doc: '`on`: the page `/console` for people with an API key; `home`: `/` leads there too; `off`: no such page.',
  }),
  apiKeysFile: forApi('API_KEYS_FILE', absolutePathValue, {
    defaultDoc: 'none',
    absent: nothing,
    doc: 'A file with named API keys, YAML or JSON, such as one of a mounted Secret: a change of it counts within ten seconds ([operate.md](../guides/operate.md#keys-from-a-file)).',
  }),
  keyRateLimitPerMinute: forDelivery('KEY_RATE_LIMIT_PER_MINUTE', ratePerMinute, {
    default: '120',
    doc: 'Requests a minute to `/api/key` for each token or address.',
  }),
  deliveryCacheBytesMax: forDelivery('DELIVERY_CACHE_SIZE', sizeValue, {
    default: '256MiB',
    doc: 'Memory for the playlists and segments that were requested last; `0` keeps none.',
  }),
  thumbPresets: forDelivery('THUMB_PRESETS', thumbPresetsValue, {
    defaultDoc: 'none',
    absent: () => new Map(),
    doc: 'Options of images under one name, `card=w:320,h:180,fit:cover;hero=w:1280`; an address has `preset=card`.',
  }),
  thumbSources: forDelivery('THUMB_SOURCES', thumbSourcesValue, {
    defaultDoc: 'off',
    absent: nothing,
    doc: 'Sources that are shown as images (`from=source`): those below a prefix such as `uploads/`, or `all`. Delivery then reads the source bucket.',
  }),
  thumbUnsigned: forDelivery('THUMB_UNSIGNED', wordValue(['off', 'on']), {
    default: 'off',
    doc: '`on`, for development: images at `/thumb/unsigned/{key}` need no signature; refused where `NODE_ENV` is `production` or `BASE_URL` is public.',
  }),
  streamMutableCacheControl: forDelivery('STREAM_MUTABLE_CACHE_CONTROL', headerValue, {
    absent: () => null,
    defaultDoc: 'as for every object: a year',
    doc: 'The `Cache-Control` of top master playlists and of addresses without a revision; `public, max-age=60` lets players see a replaced stream.',
  }),
  playbackFigures: forDelivery('PLAYBACK_FIGURES', booleanValue, {
    default: 'false',
    doc: 'Whether what players say of their state (CMCD) is counted: `svc_playback_*`, and a digest of each media and day in the database.',
  }),
  streamBytesPerHour: forDelivery('STREAM_BYTES_PER_HOUR', sizeValue, {
    defaultDoc: 'no bound',
    absent: nothing,
    doc: 'Bytes of streams that one address (or /64) gets of each server in an hour, against pulls of whole media; more is 429.',
  }),
};

export const secretVariables = {
  apiKeys: forApi('API_KEY', secretsValue, {
    isRequired: true,
    absent: none,
    isSecret: true,
    doc: 'Keys accepted in `X-API-Key`.',
  }),
  eventsTokens: forApi('EVENTS_TOKEN', secretsValue, {
    defaultDoc: 'none; an API key is needed',
    absent: none,
    isSecret: true,
    doc: 'Tokens accepted as `Authorization: Bearer`, or as the password of `Basic`, at `/api/events/s3`, for buckets that can send no `X-API-Key`.',
  }),
  keyTokenSecret: forDelivery('KEY_TOKEN_SECRET', secretValue, {
    isRequired: true,
    absent: unusableSecret,
    isSecret: true,
    doc: 'Signs playback tokens.',
  }),
  webhookSecret: forWorker('WEBHOOK_SECRET', secretValue, {
    isRequired: true,
    absent: unusableSecret,
    isSecret: true,
    doc: 'Signs webhooks; `whsec_` and base64 (Standard Webhooks), or any other text.',
  }),
  // The worker wraps content keys, the key endpoint unwraps them.
  encryptionKeys: forKeys('ENCRYPTION_KEY', secretsValue, {
    isRequired: true,
    absent: none,
    isSecret: true,
    doc: 'Protects stored content keys; of several, the first wraps and each unwraps.',
  }),
  thumbSecrets: forDelivery('THUMB_SECRET', secretsValue, {
    defaultDoc: 'derived from `KEY_TOKEN_SECRET`',
    absent: none,
    isSecret: true,
    doc: 'Signs `/thumb` addresses; of several, each is accepted.',
  }),
  streamSecrets: forDelivery('STREAM_SECRET', secretsValue, {
    defaultDoc: 'none; `/s` is refused',
    absent: none,
    isSecret: true,
    doc: 'Signs the tickets of `/s`; of several, each is accepted.',
  }),
};

const jobVariables = {
  maxFileSizeBytes: forJobs('MAX_FILE_SIZE', sizeValue, { default: '20GiB', doc: 'Largest accepted video source.' }),
  largeVideoThresholdBytes: forJobs('LARGE_VIDEO_THRESHOLD', sizeValue, {
    default: '2GiB',
    doc: 'Measured size from which on a video goes to `video:large`.',
  }),
  mediaProfiles: forJobs('MEDIA_PROFILES', mediaProfilesValue, {
    defaultDoc: 'the built-in ones; every video gets `default`',
    absent: () => builtInMediaProfiles,
    isDocument: true,
    doc: 'Encoding profiles and their rules (YAML; docs/reference/media.md, "Profiles"); `MEDIA_PROFILES_FILE` names a file.',
  }),
  eventRules: forApi('EVENT_RULES', eventRulesValue, {
    defaultDoc: 'none; events of the bucket are refused',
    absent: none,
    isDocument: true,
    doc: 'Rules by which new objects of the source bucket are submitted (YAML; docs/guides/api.md, "Events of the bucket"); `EVENT_RULES_FILE` names a file.',
  }),
  executor: forWorker('EXECUTOR', wordValue(['kubernetes', 'process']), {
    // Kubernetes sets this variable in every container.
    default: (env) => (env['KUBERNETES_SERVICE_HOST'] === undefined ? 'process' : 'kubernetes'),
    defaultDoc: '`kubernetes` inside a cluster, else `process`',
    doc: '`kubernetes` or `process`: what runs the work.',
  }),
  workerConcurrency: forWorker('WORKER_CONCURRENCY', concurrencyValue, {
    default: '4',
    doc: 'Jobs of the default queue that run at once.',
  }),
  largeWorkerConcurrency: forWorker('LARGE_WORKER_CONCURRENCY', concurrencyValue, {
    default: '1',
    doc: 'Jobs of `video:large` that run at once.',
  }),
  imageJobsPerProcess: forWorker('IMAGE_JOBS_PER_PROCESS', integerValue(1, 1_000_000), {
    default: '250',
    doc: 'Image jobs that one runner process does in turn before it is replaced; `1`: a process for each.',
  }),
  chunkLengthMs: forWorker('CHUNK_LENGTH', positiveDurationValue, {
    default: '60s',
    doc: 'Length of chunks; a video of at least about three is encoded in chunks.',
  }),
  chunkParallelism: forWorker('WORKER_CHUNK_PARALLELISM', concurrencyValue, {
    default: '1',
    doc: 'Chunks of one video that are encoded at once (process executor).',
  }),
  workerMetricsPort: forWorker('WORKER_METRICS_PORT', portValue, {
    default: '3001',
    doc: 'Port of the listener of mode `worker`; `0` disables it.',
  }),
  jobAttempts: forWorker('JOB_ATTEMPTS', integerValue(1, 100), {
    default: '3',
    doc: 'Failed attempts that end a job; a disruption costs none.',
  }),
  outageDeadlineMs: forWorker('OUTAGE_DEADLINE', positiveDurationValue, {
    default: '1h',
    doc: 'How long a storage outage costs no attempt and pauses admission.',
  }),
  jobRetentionMs: forWorker('JOB_RETENTION', positiveDurationValue, {
    defaultDoc: 'forever',
    absent: nothing,
    doc: 'How long a job, its result objects and its webhook events are kept after its end.',
  }),
  // Delivery warns where it is set and caches keep what it deletes.
  revisionRetentionMs: declareFor('delivery', 'worker')('REVISION_RETENTION', positiveDurationValue, {
    defaultDoc: 'forever',
    absent: nothing,
    doc: 'How long the objects of a stream are kept after a newer one replaced it.',
  }),
  receiptRetentionMs: forWorker('RECEIPT_RETENTION', positiveDurationValue, {
    defaultDoc: 'forever',
    absent: nothing,
    doc: 'How long the receipt of a deleted media is kept, and its addresses answer 410.',
  }),
  playbackRetentionMs: forWorker('PLAYBACK_RETENTION', positiveDurationValue, {
    default: '90d',
    doc: 'How long the digests of playback are kept.',
  }),
  purgeHookUrl: forJobs('PURGE_HOOK_URL', httpUrlValue, {
    defaultDoc: 'none',
    absent: nothing,
    doc: 'Gets the paths of each deleted media, signed and repeated like webhooks, for a CDN to purge.',
  }),
  jobDeadlineMs: forWorker('JOB_DEADLINE', timerValue, {
    default: '6h',
    doc: 'How long one step of an attempt may take.',
  }),
  leaseMs: forWorker('LEASE_DURATION', timerValue, {
    default: '15s',
    doc: 'Time without renewal after which another worker takes over a job (process executor) or an import.',
  }),
  sweepIntervalMs: forWorker('SWEEP_INTERVAL', timerValue, {
    default: '5s',
    doc: 'How often lost tickets and lapsed leases are looked for.',
  }),
  ticketAgeMs: forWorker('TICKET_AGE', positiveDurationValue, {
    default: '30s',
    doc: 'How long a job may wait unclaimed before its ticket is added again.',
  }),
  workDir: forWorker('WORK_DIR', absolutePathValue, {
    default: (env) => env['TMPDIR'] ?? '/tmp',
    defaultDoc: "the system's temporary folder",
    doc: 'Scratch folder of the process executor.',
  }),
  ffmpegPath: forWorker('FFMPEG_PATH', pathValue, {
    defaultDoc: 'found: npm `ffmpeg-static`, then PATH',
    absent: nothing,
    doc: 'The program `ffmpeg`.',
  }),
  ffprobePath: forWorker('FFPROBE_PATH', pathValue, {
    defaultDoc: 'found: PATH, then npm `@ffprobe-installer/ffprobe`',
    absent: nothing,
    doc: 'The program `ffprobe`.',
  }),
  packagerPath: forWorker('PACKAGER_PATH', pathValue, {
    defaultDoc: 'found: npm `shaka-packager`, then PATH',
    absent: nothing,
    doc: 'The program of Shaka Packager.',
  }),
  x264Preset: forWorker('X264_PRESET', wordValue(x264Presets), {
    defaultDoc: "the profile's: `medium`",
    absent: nothing,
    doc: "x264's preset, `ultrafast` to `veryslow`: faster presets cost quality and size.",
  }),
  webhookAllowedCidrs: forJobs('WEBHOOK_ALLOWED_CIDRS', cidrsValue, {
    defaultDoc: 'none',
    absent: none,
    doc: 'Private networks (CIDR) that webhooks may be sent to.',
  }),
  webhookBackoffMs: forWorker('WEBHOOK_BACKOFF', durationsValue(webhookAttemptsMax), {
    default: '0s,5s,30s,3m,18m',
    doc: 'Pause before each attempt at a webhook; at most five attempts.',
  }),
};

/** The variables that fill the fields of `Config` itself. */
export const configVariables = { ...processVariables, ...serverVariables, ...secretVariables, ...jobVariables };

/** Every variable, by the section of docs/reference/configuration.md that lists it. */
export const sections = {
  'The process': processVariables,
  'The server': serverVariables,
  Secrets: secretVariables,
  'Jobs and workers': jobVariables,
  Kubernetes: kubernetesVariables,
  'The source store': storageVariables('SOURCE'),
  'The media store': mediaVariables,
  Uploads: uploadVariables,
  Imports: importVariables,
};
