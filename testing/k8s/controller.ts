import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { inject, onTestFinished, test as base } from 'vitest';
import type { JobType } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { type MediaJob, mediaJobs } from '#platform/kubernetes/objects.ts';
import { runComponents } from '#platform/lifecycle/run-components.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { PoolStore } from '#platform/postgres/pool-store.ts';
import { ProfileStore } from '#platform/postgres/profile-store.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { DueWorkStore } from '#platform/postgres/due-work.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { MediaStore } from '#platform/postgres/media-store.ts';
import { RolloutStore } from '#platform/postgres/rollout-store.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { openPostgresTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { controllerComponents, workerListener } from '../../controller/controller.ts';
import type { ControllerDependencies } from '../../controller/dependencies.ts';
import { TaskEndpoint } from '../../controller/execution/task-requests.ts';
import { configOf, type Note } from '../controller-rig.ts';
import { migratedDatabase } from '../databases.ts';
import { kubectl } from './api-server.ts';
import { adminCredentials, type Cleanup, clientFor, newNamespace, server, until } from './cluster.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { quotas } from './kinds.ts';
import { type BatchJob, TestNode } from './node.ts';
import { submitJob, type Submitted } from './submit-job.ts';

// Whole workers in this process, with the `kubernetes` executor, on the API server and the controllers of this run,
// with a separate database and folders. What a scheduler and kubelets do, a test does itself (node.ts, pod-player.ts).

export type ControllerRig = Awaited<ReturnType<typeof openControllerRig>>;

/**
 * `variables` are added to each worker's environment. Tests that run at once give the `cleanup` of their own context.
 */
export async function openControllerRig(variables: Record<string, string> = {}, cleanup: Cleanup = onTestFinished) {
  if (!inject('postgres')) throw new Error('no PostgreSQL was started for this run');
  const admin = clientFor(adminCredentials(), { cleanup });
  const namespace = await newNamespace(admin);
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-k8s-rig-'));
  const [source, media] = ['source', 'media'].map((name) => join(dir, name)) as [string, string];
  for (const folder of [source, media]) await mkdir(folder);
  const testDatabase = await migratedDatabase();
  const config = configOf({
    DATABASE_URL: testDatabase.url,
    SOURCE_BUCKET: `file:${source}`,
    MEDIA_BUCKET: `file:${media}`,
    EXECUTOR: 'kubernetes',
    KUBECONFIG: server.kubeconfigPath,
    RUNNER_NAMESPACE: namespace,
    RUNNER_IMAGE: 'docker.io/library/reelwright-runner:test',
    ...variables,
  });
  const { kubernetes } = config;
  if (kubernetes === null) throw new Error('the configuration has no Kubernetes');
  const log = createLogger({ level: (process.env['RIG_LOG'] as 'info' | undefined) ?? 'silent', name: 'test' });
  const database = openDatabase(testDatabase.url);
  const jobs = new JobStore(database);
  const profiles = new ProfileStore(database);
  const poolCopy = new PoolStore(database);
  const queue = openPostgresTicketQueue({ databaseUrl: testDatabase.url, log });
  const mediaStore = openObjectStore(config.media);
  const sourceStore = openObjectStore(config.source);
  const contentKeys = new ContentKeyStore(database, { encryptionKeys: config.encryptionKeys });
  const stops = new Set<() => Promise<void>>();

  const rollouts = new RolloutStore(database);
  const startWorker = (overrides: Partial<ControllerDependencies> = {}) => {
    const stopping = new AbortController();
    const dependencies = {
      config,
      jobs,
      profiles,
      poolCopy,
      queue,
      contentKeys,
      webhookEvents: new WebhookEventStore(database),
      cleanup: new CleanupStore(database),
      fence: new DeletionFence(database),
      retention: new RetentionStore(database),
      deletions: new MediaDeletionStore(database),
      uploads: null,
      uploadRows: new UploadStore(database),
      importRows: new ImportStore(database),
      dueWork: new DueWorkStore(database),
      library: new MediaStore(database),
      rollouts,
      media: mediaStore,
      metrics: new Metrics(),
      log,
      clock: () => new Date(),
      randomUuid: () => randomUUID(),
      random: () => 0,
      taskEndpoint: new TaskEndpoint(),
      checkDatabase: (signal: AbortSignal) => database.ping(signal),
      kubernetes: { client: clientFor(adminCredentials(), { cleanup }) },
      source: sourceStore,
      runner: { program: process.execPath, script: '', variables: { X264_PRESET: 'ultrafast' } },
      ...overrides,
    };
    const isListening = config.mode === 'worker' && config.workerMetricsPort !== 0;
    const parts = [...(isListening ? [workerListener(dependencies)] : []), ...controllerComponents(dependencies)];
    const ended = runComponents(parts, { log, stopTimeoutMs: 10_000, signal: stopping.signal });
    ended.catch(() => undefined);
    const stop = async () => {
      stops.delete(stop);
      stopping.abort();
      await ended;
    };
    stops.add(stop);
    return { stop };
  };

  const node = new TestNode(admin, namespace);
  const jobOf = async (id: string, attempt = 1): Promise<BatchJob> => {
    let job: BatchJob | undefined;
    await until(`attempt ${attempt} has a Job`, async () => {
      job = (await node.jobs()).find(({ metadata }) => metadata?.name === `mj-${id}-${attempt}`);
      return job !== undefined;
    });
    return job as BatchJob;
  };
  const find = async (id: string): Promise<Job> => {
    const job = await jobs.find(id);
    if (job === null) throw new Error(`no job ${id}`);
    return job;
  };

  cleanup(async () => {
    await Promise.all([...stops].map((stop) => stop()));
    await queue.close();
    await mediaStore.close();
    await sourceStore.close();
    await database.close();
    await testDatabase.drop();
    await rm(dir, { recursive: true, force: true });
  });

  return {
    admin,
    namespace,
    config,
    database,
    jobs,
    profiles,
    rollouts,
    poolCopy,
    queue,
    contentKeys,
    media: mediaStore,
    source: sourceStore,
    kubernetes,
    node,
    /** The Job of an attempt, once it is there. */
    jobOf,
    /** The pod of the Job of an attempt, once it is there. */
    podOf: async (id: string, attempt = 1) => node.podOf(await jobOf(id, attempt)),
    /** Waits until there are so many Jobs. */
    async jobsAre(count: number): Promise<BatchJob[]> {
      await until(`there are ${count} Jobs`, async () => (await node.jobs()).length === count);
      return node.jobs();
    },
    /** Lets the namespace have no pod, by a quota. */
    async refusePods(): Promise<void> {
      const quota = { namespace, name: 'none' };
      await admin.create(quotas, { metadata: quota, spec: { hard: { pods: '0' } } });
      await until('the quota counts', async () => (await admin.get(quotas, quota)).status?.hard !== undefined);
    },
    /** Runs every pod until the test has ended, by default with the real runner. */
    runAll(script?: string): void {
      const watch = node.runAll(script);
      cleanup(() => watch.stop());
    },
    /** For sources whose names say what the scripted runner does: `${notes}/ok`. */
    notes: join(dir, 'notes').slice(1),
    startWorker,
    /** Starts a worker whose way to the API server is a proxy. */
    async startProxiedWorker(more: { readonly timeoutMs?: number; readonly relistEveryMs?: number } = {}) {
      const proxy = await FaultyProxy.open();
      cleanup(() => proxy.close());
      const { relistEveryMs, ...options } = more;
      const client = clientFor(adminCredentials(proxy.url), { cleanup, ...options });
      startWorker({ kubernetes: { client, ...(relistEveryMs === undefined ? {} : { relistEveryMs }) } });
      return proxy;
    },
    find,
    /** The row of a job that has ended. */
    async ended(id: string): Promise<Job> {
      await until(`job ${id} has ended`, async () => isFinal((await find(id)).status));
      return find(id);
    },
    writeSource: (name: string, bytes: Uint8Array) => writeFile(join(source, name), bytes),
    async writeImage(name = 'source'): Promise<void> {
      const create = { width: 64, height: 48, channels: 3 as const, background: '#369' };
      await writeFile(join(source, name), await sharp({ create }).jpeg().toBuffer());
    },
    submit: (type: JobType, more?: Submitted) => submitJob({ jobs, queue }, type, more),
    /** The notes of the scripted runner, in order. */
    async readNotes(): Promise<Note[]> {
      const text = await readFile(join(dir, 'notes'), 'utf8').catch(() => '');
      const lines = text.split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line) as Note);
    },
    /** Cancels a job as the API does. */
    async cancel(id: string): Promise<void> {
      const { attempt } = await find(id);
      const now = new Date();
      await jobs.finish({
        jobId: id,
        attempt,
        status: 'cancelled',
        results: null,
        error: null,
        eventId: randomUUID(),
        now,
      });
    },
    mediaJob: (jobId: string): Promise<MediaJob> => getMediaJob(admin, namespace, `mj-${jobId}`),
    mediaJobNamed: (name: string): Promise<MediaJob> => getMediaJob(admin, namespace, name),
    /** `kubectl apply` of a MediaJob. */
    async applyMediaJob(name: string, spec: object): Promise<void> {
      const manifest = { apiVersion: 'reelwright.dev/v1alpha1', kind: 'MediaJob', metadata: { name }, spec };
      await kubectl(server, ['apply', '-n', namespace, '-f', '-'], JSON.stringify(manifest));
    },
    /** Waits until a condition of a MediaJob is `status/reason`. */
    becomes: (name: string, type: string, so: string): Promise<void> =>
      until(`${type} is ${so}`, async () => {
        const mediaJob = await getMediaJob(admin, namespace, name).catch(() => null);
        return mediaJob !== null && conditionOf(mediaJob, type) === so;
      }),
  };
}

interface RigFixture {
  /** Opens a rig that is closed when the test ends. */
  readonly openRig: (variables?: Record<string, string>) => Promise<ControllerRig>;
}

/** A test with a rig. Tests with rigs may run at once: each has a namespace and a database. */
export const rigTest = base.extend<RigFixture>({
  openRig: async ({ onTestFinished: cleanup }, use) => use((variables) => openControllerRig(variables, cleanup)),
});

function getMediaJob(client: KubeClient, namespace: string, name: string): Promise<MediaJob> {
  return client.get(mediaJobs, { namespace, name });
}

/** The condition of a type, as `status/reason`. */
export function conditionOf({ status }: MediaJob, type: string): string | undefined {
  const found = status?.conditions?.find((condition) => condition.type === type);
  return found && `${found.status}/${found.reason}`;
}
