import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { FastifyInstance } from 'fastify';
import { inject } from 'vitest';
import { createHttpServer } from '#platform/http/server.ts';
import { httpServiceOptions, type ServiceDependencies } from '../../http-service.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import type { Job, ShownJob } from '#domain/jobs/job.ts';
import { builtInMediaProfiles } from '#domain/media/profiles.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { ImageProcessor } from '#platform/images/image-processor.ts';
import { openRedisWindowCounter } from '#platform/rate-limit/redis-window-counter.ts';
import { openTableWindowCounter } from '#platform/rate-limit/table-window-counter.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { openListDatabase } from '#platform/postgres/list-database.ts';
import { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { PlaybackStore } from '#platform/postgres/playback-store.ts';
import { MediaStore } from '#platform/postgres/media-store.ts';
import { RolloutStore } from '#platform/postgres/rollout-store.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { PoolStore } from '#platform/postgres/pool-store.ts';
import { DeliveredStore } from '#platform/postgres/delivered-store.ts';
import { PlaybackDayStore } from '#platform/postgres/playback-day-store.ts';
import { ProfileStore } from '#platform/postgres/profile-store.ts';
import { openPostgresTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import { openRedisTicketQueue } from '#platform/queue/redis-ticket-queue.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import type { StorageSettings } from '#platform/config/storage-settings.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { startTracing } from '#platform/telemetry/tracing.ts';
import { checkout } from '../../testing/checkout.ts';
import { migratedDatabase } from '../../testing/databases.ts';
import { startRedis } from '../../testing/servers.ts';

// The API in this process, on a free port, over real parts: PostgreSQL always; Redis and S3 where this machine has
// them, else the embedded parts behind the same ports.

export const apiKey = 'api-key-of-the-contract-tests';
export const olderApiKey = 'older-api-key-of-the-contract-tests';
export const keyTokenSecret = 'key-token-secret-of-the-contract-tests';

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly bytes: Buffer;
  /** The body as JSON; fails when it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of it
  readonly json: any;
}

export interface ApiUnderTest {
  readonly url: string;
  readonly app: FastifyInstance;
  readonly d: ServiceDependencies;
  /** Sends as `X-API-Key` what the tests have, unless `headers` say otherwise. */
  call(path: string, init?: RequestInit): Promise<Answer>;
  submit(body: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Sends the path as it is, where `fetch` would normalise it. */
  raw(path: string, init?: { method?: string; headers?: Record<string, string>; body?: Uint8Array }): Promise<Answer>;
  putSource(key: string, body: Buffer | string): Promise<void>;
  putMedia(key: string, body: Buffer | string, contentType?: string): Promise<void>;
  /** Takes the job through its one attempt, as a worker would. */
  complete(jobId: string, results: JobResults): Promise<ShownJob>;
  fail(jobId: string, results?: JobResults | null): Promise<ShownJob>;
  close(): Promise<void>;
}

interface Detours {
  /** Gives the address at which the API shall reach the server. */
  readonly redis?: (url: string) => Promise<string>;
  readonly postgres?: (url: string) => Promise<string>;
}

/** `config`: what differs from the defaults; `replace`: parts that fail or count. */
export async function startApi(
  config: Partial<ServiceDependencies['config']> = {},
  replace: Partial<ServiceDependencies> = {},
  detours: Detours = {},
): Promise<ApiUnderTest> {
  const tracing = startTracing({ endpoint: null, serviceName: 'test' });
  const testDatabase = await migratedDatabase();
  const databaseUrl = (await detours.postgres?.(testDatabase.url)) ?? testDatabase.url;
  const database = openDatabase(databaseUrl, { maxConnections: 5 });
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-api-'));
  const log = createLogger({ level: 'silent', name: 'test' });
  // One of its own: windows and tickets of other tests would count here, and this one may be stopped.
  const redis = inject('redis') ? await startRedis() : null;
  const redisUrl = redis === null ? null : ((await detours.redis?.(redis.url)) ?? redis.url);
  const source = openObjectStore(await newStorage(folder, 'source'));
  const d: ServiceDependencies = {
    config: { ...defaultConfig(), ...config },
    jobs: new JobStore(database),
    library: new MediaStore(database),
    rollouts: new RolloutStore(database),
    deletions: new MediaDeletionStore(database),
    deletedMedia: new DeletedMediaStore(database),
    playbacks: new PlaybackStore(database),
    playbackDays: new PlaybackDayStore(database),
    delivered: new DeliveredStore(database),
    profiles: new ProfileStore(database),
    pools: new PoolStore(database),
    contentKeys: new ContentKeyStore(database, { encryptionKeys: ['encryption-key-of-the-contract-tests'] }),
    queue:
      redisUrl === null ? openPostgresTicketQueue({ databaseUrl, log }) : openRedisTicketQueue({ url: redisUrl, log }),
    windowCounter: redisUrl === null ? openTableWindowCounter(database) : openRedisWindowCounter({ url: redisUrl }),
    source,
    imageSource: source,
    media: openObjectStore(await newStorage(folder, 'media')),
    uploads: null,
    database,
    listDatabase: openListDatabase(databaseUrl),
    images: new ImageProcessor(),
    metrics: new Metrics(),
    log,
    clock: () => new Date(),
    randomUuid: () => randomUUID(),
    webDir: join(checkout, 'web'),
    ...replace,
  };
  const app = await createHttpServer(httpServiceOptions(d));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const close = async () => {
    await app.close();
    await Promise.all([d.queue.close(), d.windowCounter.close(), d.images.close(), d.source.close(), d.media.close()]);
    await redis?.stop();
    await Promise.all([database.close(), d.listDatabase.close()]);
    await tracing.shutdown();
    await testDatabase.drop();
    await rm(folder, { recursive: true, force: true });
  };
  return { url: `http://127.0.0.1:${port}`, app, d, close, ...callsOf(port), ...stepsOf(d) };
}

function defaultConfig(): ServiceDependencies['config'] {
  return {
    host: '127.0.0.1',
    port: 0,
    surfaces: new Set(['api', 'delivery']),
    apiKeys: [apiKey, olderApiKey],
    keyTokenSecret,
    thumbSecrets: [],
    thumbPresets: new Map(),
    thumbUnsigned: 'off',
    thumbSources: null,
    streamSecrets: [],
    purgeHookUrl: null,
    mediaProfiles: builtInMediaProfiles,
    maxFileSizeBytes: 4096,
    largeVideoThresholdBytes: 2048,
    trustedProxies: [],
    apiRateLimitPerMinute: 10_000,
    console: 'off',
    keyRateLimitPerMinute: 10_000,
    batchRateLimitPerMinute: 10_000,
    repairMissing: false,
    deliveryCacheBytesMax: 64 * 1024 * 1024,
    streamMutableCacheControl: null,
    playbackFigures: false,
    streamBytesPerHour: null,
    webhookAllowedCidrs: [],
    eventRules: [],
    eventsTokens: [],
    imports: null,
    source: { bucket: 'sources' },
  };
}

/** An empty bucket, or a folder where this machine has no S3 server. */
export async function newStorage(folder: string, name: string): Promise<StorageSettings> {
  const s3 = inject('s3');
  if (!s3) {
    const dir = join(folder, name);
    await mkdir(dir);
    return { bucket: name, dir };
  }
  const bucket = `${name}-${randomBytes(6).toString('hex')}`;
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return {
    bucket,
    s3: {
      endpoint,
      region: 'us-east-1',
      keys: { accessKeyId, secretAccessKey },
      forcePathStyle: true,
      checksums: 'when_supported',
      timeoutMs: 30_000,
      chainVariables: {},
    },
  };
}

function callsOf(port: number): Pick<ApiUnderTest, 'call' | 'submit' | 'raw'> {
  const call: ApiUnderTest['call'] = async (path, init = {}) => {
    const headers = new Headers({ 'x-api-key': apiKey });
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init, headers });
    const bytes = Buffer.from(await response.arrayBuffer());
    return answerOf(response.status, response.headers, bytes);
  };
  return {
    call,
    submit: (body, headers = {}) =>
      call('/api/jobs', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    raw: (path, { method = 'GET', headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const request = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const received = new Headers();
            for (let i = 0; i + 1 < response.rawHeaders.length; i += 2)
              received.append(response.rawHeaders[i] ?? '', response.rawHeaders[i + 1] ?? '');
            resolve(answerOf(response.statusCode ?? 0, received, Buffer.concat(chunks)));
          });
          response.on('error', reject);
        });
        request.on('error', reject);
        request.end(body);
      }),
  };
}

function answerOf(status: number, headers: Headers, bytes: Buffer): Answer {
  const text = bytes.toString('utf8');
  return {
    status,
    headers,
    bytes,
    text,
    get json() {
      return JSON.parse(text) as unknown;
    },
  };
}

function stepsOf(d: ServiceDependencies): Pick<ApiUnderTest, 'putSource' | 'putMedia' | 'complete' | 'fail'> {
  const finish = async (jobId: string, end: { results: JobResults | null; error: Job['error'] }): Promise<ShownJob> => {
    const job = await d.jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 60_000 });
    if (job === null) throw new Error(`job ${jobId} cannot be claimed`);
    const status = end.error === null ? 'completed' : 'failed';
    const final = { jobId, attempt: 1, status, ...end, eventId: randomUUID(), now: new Date() } as const;
    const finished = await d.jobs.finish(final);
    if (finished === null) throw new Error(`job ${jobId} cannot be finished`);
    return finished;
  };
  return {
    putSource: (key, body) => d.source.put(key, body, { contentType: 'application/octet-stream' }),
    putMedia: (key, body, contentType = 'application/octet-stream') => d.media.put(key, body, { contentType }),
    complete: (jobId, results) => finish(jobId, { results, error: null }),
    fail: (jobId, results = null) => finish(jobId, { results, error: jobErrorOf('storage_error', 1) }),
  };
}
