import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCodes } from '#domain/exit-codes.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { jobs, pods, secrets } from '#platform/kubernetes/objects.ts';
import { type IndexedPod, runIndexed } from './indexed-job.ts';
import { type JobWatch, watchJobs } from './job-watch.ts';

// What the Job controller and a kubelet do for a Job, done by a test: a pod is made of its template, its containers run
// one after another as processes of this machine, and its status says what became of them.

type Job = NonNullable<(typeof jobs)['example']>;
type Pod = NonNullable<(typeof pods)['example']>;
type Container = NonNullable<Pod['spec']>['containers'][number];
type PodStatus = NonNullable<Pod['status']>;

const runnerMain = join(import.meta.dirname, '../../runner/main.ts');
/** Does as the source's name says (test/fixtures/scripted-runner.ts). */
export const scriptedRunner = join(import.meta.dirname, '../../test/fixtures/scripted-runner.ts');

const indexLabel = 'batch.kubernetes.io/job-completion-index';

/** The API server keeps a deleted pod that has a node until its kubelet has stopped it. */
const nodeOfChunks = 'node-of-chunks';

interface PodPlace {
  readonly workspace: string;
  readonly script: string;
  readonly pod: Pod;
}

/** How a test ends a pod that runs. */
interface PodKill {
  /** Added to the status of the pod: what marks a disruption, for one. */
  readonly status?: Partial<PodStatus>;
  /** The pod's node is lost: nothing writes its status any more. */
  readonly isLost?: boolean;
}

interface ContainerEnd {
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly message: string;
}

export class TestNode {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #running = new Map<string, ChildProcess>();
  readonly #kills = new Map<string, PodKill>();
  /** Of the containers of a pod that have ended: their times and termination messages. */
  readonly #ends = new Map<string, Record<string, ContainerEnd>>();

  /** `variables` are added to every container. */
  constructor(client: KubeClient, namespace: string, variables: Readonly<Record<string, string>> = {}) {
    this.#client = client;
    this.#namespace = namespace;
    this.#variables = variables;
  }

  /** The Jobs that are there, the oldest first. */
  async jobs(): Promise<Job[]> {
    const { items } = await this.#client.list(jobs, { namespace: this.#namespace });
    return items.toSorted((a, b) => String(a.metadata?.name).localeCompare(String(b.metadata?.name)));
  }

  /** Makes the pod of a Job, or of one of its indexes, as its controller does; on a node if one is named. */
  async makePod(job: Job, place: { nodeName?: string; index?: number } = {}): Promise<Pod> {
    return this.#client.create(pods, podOf(job, this.#namespace, place));
  }

  async setStatus(pod: Pod, status: PodStatus): Promise<void> {
    const ref = { namespace: this.#namespace, name: pod.metadata?.name ?? '' };
    await this.#client.mergePatch(pods, ref, { status }, { subresource: 'status' });
  }

  /** Runs a Job's containers for real, one after another; the exit codes, by container. */
  async run(job: Job, script = runnerMain): Promise<Record<string, number>> {
    return this.execute(await this.makePod(job), script);
  }

  /** Stops the container of a pod that runs, and lets no other start. */
  kill(pod: Pod, how: PodKill = {}): void {
    const { name = '' } = pod.metadata ?? {};
    this.#kills.set(name, how);
    this.#running.get(name)?.kill('SIGTERM');
  }

  /** Deletes a pod at once, as a kubelet does once its containers have ended. */
  async removePod({ metadata }: Pod): Promise<void> {
    const ref = { namespace: this.#namespace, name: metadata?.name ?? '' };
    await this.#client.delete(pods, ref, { gracePeriodSeconds: 0 });
  }

  /** Runs a pod's containers for real, and writes its status as a kubelet does, unless it is to be silent. */
  async execute(pod: Pod, script = runnerMain, { isSilent = false } = {}): Promise<Record<string, number>> {
    const { initContainers = [], containers } = pod.spec ?? { containers: [] };
    const workspace = await mkdtemp(join(tmpdir(), 'reelwright-pod-'));
    const codes: Record<string, number> = {};
    const killed = () => this.#kills.get(pod.metadata?.name ?? '');
    try {
      for (const container of [...initContainers, ...containers]) {
        if (!isSilent) await this.setStatus(pod, this.#statusOf(pod, codes, container.name));
        codes[container.name] = killed()
          ? exitCodes.stopped
          : await this.#runContainer(container, { workspace, script, pod });
        if (codes[container.name] !== 0) break;
      }
      if (!isSilent && killed()?.isLost !== true)
        await this.setStatus(pod, { ...this.#statusOf(pod, codes), ...killed()?.status });
      return codes;
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  }

  /** Runs the pod of an index; returns its last status, and none once its node is lost. */
  async #runIndex(job: Job, { index, deleted }: IndexedPod, script: string): Promise<PodStatus> {
    const pod = await this.makePod(job, { index, nodeName: nodeOfChunks });
    const remove = () => {
      if (this.#kills.get(pod.metadata?.name ?? '')?.isLost !== true) this.kill(pod);
    };
    deleted.addEventListener('abort', remove);
    const codes = await this.execute(pod, script);
    const kill = this.#kills.get(pod.metadata?.name ?? '');
    if (kill?.isLost === true) await new Promise(() => undefined);
    if (deleted.aborted) await this.removePod(pod);
    return { ...this.#statusOf(pod, codes), ...kill?.status };
  }

  async #runContainer(container: Container, { workspace, script, pod }: PodPlace): Promise<number> {
    const env = { ...(await this.#environment(container)), ...this.#variables };
    const { name = '', labels } = pod.metadata ?? {};
    const index = labels?.[indexLabel];
    if (index !== undefined) env['JOB_COMPLETION_INDEX'] = index;
    for (const variable of ['RUNNER_WORKSPACE', 'RUNNER_OUTPUT', 'HOME', 'TMPDIR']) env[variable] = workspace;
    const log = join(workspace, `termination-${container.name}`);
    await writeFile(log, '');
    env['RUNNER_TERMINATION_LOG'] = log;
    const startedAt = new Date().toISOString();
    const child = spawn(process.execPath, [script, ...(container.args ?? [])], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['pipe', 'ignore', process.env['RIG_LOG'] === undefined ? 'ignore' : 'inherit'],
    });
    this.#running.set(name, child);
    const code = await new Promise<number>((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (exitCode) => resolve(exitCode ?? 137));
    }).finally(() => this.#running.delete(name));
    const end = { startedAt, finishedAt: new Date().toISOString(), message: await readFile(log, 'utf8') };
    this.#ends.set(name, { ...this.#ends.get(name), [container.name]: end });
    return code;
  }

  #statusOf(pod: Pod, codes: Readonly<Record<string, number>>, running?: string): PodStatus {
    return statusOf(pod, { codes, ends: this.#ends.get(pod.metadata?.name ?? '') ?? {} }, running);
  }

  async #environment({ env = [] }: Container): Promise<Record<string, string>> {
    const values: Record<string, string> = {};
    for (const { name, value, valueFrom } of env) {
      const ref = valueFrom?.secretKeyRef;
      if (ref === undefined) values[name] = expanded(value ?? '', values);
      else {
        const { data } = await this.#client.get(secrets, { namespace: this.#namespace, name: ref.name ?? '' });
        values[name] = Buffer.from(data?.[ref.key] ?? '', 'base64').toString('utf8');
      }
    }
    return values;
  }

  /** Runs every Job that comes up, until the watch is stopped. */
  runAll(script = runnerMain): JobWatch {
    return watchJobs(this, async (job) =>
      job.spec?.completionMode === 'Indexed'
        ? runIndexed(job, this.#client, (pod) => this.#runIndex(job, pod, script))
        : this.run(job, script),
    );
  }
}

function podOf(job: Job, namespace: string, { nodeName, index }: { nodeName?: string; index?: number }): Pod {
  const { name = '', uid = '' } = job.metadata ?? {};
  const { metadata, spec } = job.spec?.template ?? {};
  if (spec === undefined) throw new Error('a Job has a template');
  return {
    metadata: {
      namespace,
      // The pod of an index may be replaced.
      name: index === undefined ? `${name}-pod` : `${name}-${index}-${randomBytes(3).toString('hex')}`,
      labels: {
        ...metadata?.labels,
        'batch.kubernetes.io/job-name': name,
        'batch.kubernetes.io/controller-uid': uid,
        ...(index === undefined ? {} : { [indexLabel]: String(index) }),
      },
      annotations: metadata?.annotations ?? {},
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }],
    },
    spec: nodeName === undefined ? spec : { ...spec, nodeName },
  };
}

/** What Kubernetes makes of `env[].value`: `$(NAME)` of an earlier variable is replaced, and `$$` is one `$`. */
function expanded(value: string, earlier: Readonly<Record<string, string>>): string {
  return value.replaceAll(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) =>
    name === undefined ? '$' : (earlier[name] ?? found),
  );
}

interface EndedContainers {
  readonly codes: Readonly<Record<string, number>>;
  readonly ends: Readonly<Record<string, ContainerEnd>>;
}

/** The status of a pod of which some containers have ended, and one may run. */
function statusOf(pod: Pod, { codes, ends }: EndedContainers, running?: string): PodStatus {
  const { initContainers = [], containers } = pod.spec ?? { containers: [] };
  const state = ({ name }: Container) => ({
    name,
    image: 'runner',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: stateOf(codes[name], name === running, ends[name]),
  });
  const hasFailed = Object.values(codes).some((code) => code !== 0);
  const phase = running === undefined ? (hasFailed ? 'Failed' : 'Succeeded') : 'Running';
  return {
    phase,
    conditions: [{ type: 'PodScheduled', status: 'True' }],
    ...(initContainers.length > 0 ? { initContainerStatuses: initContainers.map(state) } : {}),
    containerStatuses: containers.map(state),
  };
}

function stateOf(exitCode: number | undefined, isRunning: boolean, end?: ContainerEnd) {
  if (exitCode !== undefined)
    return { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...end } };
  return isRunning ? { running: { startedAt: new Date().toISOString() } } : { waiting: { reason: 'PodInitializing' } };
}

export type { Job as BatchJob, Pod, PodStatus };
