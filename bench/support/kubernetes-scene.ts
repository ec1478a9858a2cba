import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, fetch as fetchWith } from 'undici';
import type { KubeObject, Resource } from '#platform/kubernetes/objects.ts';
import { jobs, type MediaJob, mediaJobs, pods, runnerPools } from '#platform/kubernetes/objects.ts';
import { Reflector } from '#platform/kubernetes/reflector.ts';
import { mediaJobAnnotation } from '../../controller/kubernetes/snapshots/names.ts';
import { endPrograms, type Program } from '../../testing/programs.ts';
import { startPostgres } from '../../testing/servers.ts';
import { type SmallCluster, startSmallCluster } from '../../testing/k8s/small-cluster.ts';
import { openWorkplace, type Workplace } from '../../testing/k8s/workers.ts';

// A cluster without nodes, one worker of the program as it is shipped, and the same work as MediaJobs and as plain
// Jobs. The plain ones have the very spec that the controller gives its own, so that what is compared is the way there.

export type BatchJob = NonNullable<(typeof jobs)['example']>;

export interface Scene {
  readonly cluster: SmallCluster;
  readonly workplace: Workplace;
  readonly namespace: string;
  readonly stop: () => Promise<void>;
}

/** Opens it; the worker is not started yet. */
export async function openScene(assets: string, { hasDefaultLimits = false } = {}): Promise<Scene> {
  const stops: (() => Promise<void>)[] = [endPrograms];
  const stop = async () => {
    for (const one of stops) await one();
  };
  try {
    const cluster = await startSmallCluster({ assets, nodes: 8, hasDefaultLimits });
    stops.push(() => cluster.stop());
    const postgres = await startPostgres();
    stops.splice(1, 0, () => postgres.stop());
    const { kubeconfigPath } = cluster.server;
    const namespace = 'default';
    const workplace = await openWorkplace({ postgresUrl: postgres.url, kubeconfigPath, namespace });
    stops.splice(1, 0, () => workplace.close());
    return { cluster, workplace, namespace, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts a worker that leads, with room for everything at once. */
export async function startLeader(
  { cluster, workplace, namespace }: Scene,
  env: Record<string, string> = {},
): Promise<Program> {
  const program = await workplace.start({
    RUNNER_NAMESPACE: namespace,
    WORKER_CONCURRENCY: '10000',
    MEDIA_JOB_TTL: '24h',
    ...env,
  });
  for (const deadline = performance.now() + 60_000; performance.now() < deadline;) {
    const { items } = await cluster.admin.list(runnerPools, { namespace });
    // The first status of a pool is written by a leader that has listed everything.
    if (items.length === 2 && items.every(({ status }) => status !== undefined)) return program;
    await sleep(200);
  }
  throw new Error(`no worker leads: ${program.output().slice(-2_000)}`);
}

const atOnce = 8;

/** Does `one` for each of `count` numbers, a few at once. */
export async function eachOf(count: number, one: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

const imageOptions = { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] };

/** Applies a MediaJob as a person does, and leaves what its runner would. */
export async function makeMediaJob({ cluster, workplace, namespace }: Scene, name: string): Promise<void> {
  const spec = { type: 'image:thumbnail' as const, hash: name, source: 'source', options: imageOptions };
  const made = await cluster.admin.create(mediaJobs, { metadata: { namespace, name }, spec });
  await workplace.leaveThumbnail(made.metadata?.uid ?? '', name);
}

/** Makes a plain Job of the same spec as one of the controller's. */
export async function makePlainJob({ cluster, namespace }: Scene, name: string, of: BatchJob): Promise<void> {
  const { selector: _selector, template, ...rest } = structuredClone(of.spec ?? { template: {} });
  const spec = { ...rest, template: { ...template, metadata: {} } };
  await cluster.admin.create(jobs, { metadata: { namespace, name }, spec });
}

/** A Job that the controller made. */
export async function anyJobOfOurs({ cluster, namespace }: Scene): Promise<BatchJob> {
  const { items } = await cluster.admin.list(jobs, { namespace, labelSelector: 'reelwright.dev/job-id', limit: 1 });
  if (items[0] === undefined) throw new Error('the controller has made no Job');
  return items[0];
}

/** What is kept of what is watched. */
interface Watched extends KubeObject {
  readonly phase: string;
  /** The conditions that are true. */
  readonly conditions: readonly string[];
}

function trimmed(object: KubeObject): Watched {
  const { metadata = {}, status } = object as KubeObject & {
    status?: { phase?: string; conditions?: { type: string; status: string }[] };
  };
  const { name, namespace, uid, resourceVersion, labels, annotations } = metadata;
  const conditions = (status?.conditions ?? []).flatMap(({ type, status: is }) => (is === 'True' ? [type] : []));
  const kept = { name, namespace, uid, resourceVersion, labels, annotations } as NonNullable<KubeObject['metadata']>;
  return { metadata: kept, phase: status?.phase ?? '', conditions };
}

interface Wanted {
  readonly count: number;
  readonly isWanted: (metadata: NonNullable<KubeObject['metadata']>) => boolean;
  readonly hasEnded: (object: Watched) => boolean;
  readonly withinMs: number;
}

/**
 * Watches a kind until enough wanted objects have ended. Returns once it watches; `times` then has when each was first
 * seen to have ended, by this clock, by name.
 */
async function watched<T extends KubeObject>(
  { cluster, namespace }: Scene,
  resource: Resource<T>,
  { count, isWanted, hasEnded, withinMs }: Wanted,
): Promise<{ readonly times: Promise<Map<string, number>> }> {
  const times = new Map<string, number>();
  const done = Promise.withResolvers<void>();
  const see = (object: Watched) => {
    const { metadata = {} } = object;
    const name = metadata.name ?? '';
    if (times.has(name) || !isWanted(metadata)) return;
    if (object.conditions.includes('Failed')) done.reject(new Error(`${resource.kind} ${name} failed`));
    if (hasEnded(object)) times.set(name, performance.now());
    if (times.size === count) done.resolve();
  };
  const log = { warn: () => undefined, error: () => undefined };
  const handlers = { added: see, updated: see };
  const reflector = new Reflector({ client: cluster.admin, resource, namespace, trim: trimmed, handlers, log });
  await reflector.start();
  await reflector.whenSynced();
  const late = setTimeout(
    () => done.reject(new Error(`${times.size} of ${count} ${resource.plural} ended within ${withinMs / 1000} s`)),
    withinMs,
  );
  const finish = async () => {
    try {
      await done.promise;
    } finally {
      clearTimeout(late);
      await reflector.stop();
    }
    return times;
  };
  const ended = finish();
  // Whoever makes the objects may fail first.
  ended.catch(() => undefined);
  return { times: ended };
}

/**
 * When each of `count` objects was complete whose own name, or whose MediaJob's name, begins with `prefix`; rejects
 * when one has failed.
 */
export function completions<T extends KubeObject>(
  scene: Scene,
  resource: Resource<T>,
  { prefix, ...rest }: { readonly count: number; readonly prefix: string; readonly withinMs: number },
) {
  return watched(scene, resource, {
    ...rest,
    isWanted: ({ name, annotations }) => (annotations?.[mediaJobAnnotation] ?? name)?.startsWith(prefix) === true,
    hasEnded: ({ conditions }) => conditions.includes('Complete'),
  });
}

/** When the pod of a MediaJob or of a plain Job was seen to have succeeded. */
export function podSuccess(scene: Scene, of: string) {
  return watched(scene, pods, {
    count: 1,
    withinMs: 60_000,
    isWanted: ({ labels, annotations }) =>
      annotations?.[mediaJobAnnotation] === of || labels?.['batch.kubernetes.io/job-name'] === of,
    hasEnded: ({ phase }) => phase === 'Succeeded',
  });
}

/** How many writes the API server has counted, by `VERB resource/subresource`. */
export async function countedWrites({ cluster }: Scene): Promise<Map<string, number>> {
  const { url, caCert, adminToken } = cluster.server;
  const dispatcher = new Agent({ connect: { ca: caCert } });
  const headers = { authorization: `Bearer ${adminToken}` };
  const text = await (await fetchWith(`${url}/metrics`, { dispatcher, headers })).text();
  await dispatcher.close();
  const counts = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, labels = '', value] = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line) ?? [];
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    if (!['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION'].includes(label('verb'))) continue;
    const subresource = label('subresource');
    const name = `${label('verb')} ${label('resource')}${subresource === '' ? '' : `/${subresource}`}`;
    counts.set(name, (counts.get(name) ?? 0) + Number(value));
  }
  return counts;
}

/** What was counted after `before`, of those that `isOf` takes. */
export function increase(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  isOf: (name: string) => boolean,
): number {
  return [...after].reduce((sum, [name, count]) => sum + (isOf(name) ? count - (before.get(name) ?? 0) : 0), 0);
}

/** The memory that a process has, in MB of a million bytes. */
export async function residentMb({ pid }: Program): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6;
}

/**
 * Makes the objects of finished jobs: MediaJobs, and their Jobs, which no controller manages.
 */
export async function makeEnded({ cluster, namespace }: Scene, count: number, of: BatchJob): Promise<void> {
  const { admin } = cluster;
  const at = new Date().toISOString();
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: 'Completed',
    message: 'Every result is published.',
    lastTransitionTime: at,
    observedGeneration: 1,
  });
  const conditions = [condition('Complete', 'True'), condition('Progressing', 'False'), condition('Published', 'True')];
  await eachOf(count, async (n) => {
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    const labels = { 'reelwright.dev/job-id': id, 'reelwright.dev/pool': 'default' };
    const name = `mj-${id}`;
    const spec = { type: 'image:thumbnail' as const, hash: id, source: 'source', options: imageOptions };
    const object: MediaJob = { metadata: { namespace, name, labels }, spec };
    await admin.create(mediaJobs, object);
    const phase = 'completed' as const;
    const shared = { observedGeneration: 1, jobId: id, pool: 'default', attempt: 1, progress: 100 };
    const status = { ...shared, phase, startTime: at, completionTime: at, conditions };
    await admin.mergePatch(mediaJobs, { namespace, name }, { status }, { subresource: 'status' });
    const { selector: _selector, template, ...rest } = structuredClone(of.spec ?? { template: {} });
    const jobLabels = { ...labels, 'reelwright.dev/attempt': '1' };
    await admin.create(jobs, {
      metadata: { namespace, name: `${name}-1`, labels: jobLabels, annotations: { [mediaJobAnnotation]: name } },
      // The cluster's own controller leaves such a Job alone.
      spec: {
        ...rest,
        managedBy: 'reelwright.dev/unmanaged',
        template: { ...template, metadata: { labels: jobLabels } },
      },
    });
  });
}
