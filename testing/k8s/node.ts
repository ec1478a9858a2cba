import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCodes } from '#domain/exit-codes.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { jobs, type KubeObject, pods, type Resource, secrets } from '#platform/kubernetes/objects.ts';
import { until } from './eventually.ts';
import { type PodWatch, watchPods } from './pod-watch.ts';

// What a scheduler and a kubelet do for the pods that the Job controller makes, done by a test: the containers of a pod
// run one after another as processes of this machine, and its status says what became of them.

type Job = NonNullable<(typeof jobs)['example']>;
type Pod = NonNullable<(typeof pods)['example']>;
type Container = NonNullable<Pod['spec']>['containers'][number];
type PodStatus = NonNullable<Pod['status']>;

const runnerMain = join(import.meta.dirname, '../../runner/main.ts');
/** Does as the source's name says (test/fixtures/scripted-runner.ts). */
export const scriptedRunner = join(import.meta.dirname, '../../test/fixtures/scripted-runner.ts');

const indexLabel = 'batch.kubernetes.io/job-completion-index';

const bindings: Resource<KubeObject & { target: object }> = {
  apiVersion: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  isNamespaced: true,
};

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
  /** The ends of the containers of a pod: their times and termination messages. */
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

  /** The pod that the Job controller makes of a Job, once it is there. */
  async podOf({ metadata }: Job): Promise<Pod> {
    const labelSelector = `batch.kubernetes.io/controller-uid=${metadata?.uid}`;
    let pod: Pod | undefined;
    await until(`the Job ${metadata?.name} has a pod`, async () => {
      [pod] = (await this.#client.list(pods, { namespace: this.#namespace, labelSelector })).items;
      return pod !== undefined;
    });
    return pod as Pod;
  }

  /** Schedules a pod. The API server keeps it from then on when it is deleted, until its kubelet has stopped it. */
  async bind({ metadata }: Pod, node = 'a-node'): Promise<void> {
    const { name = '' } = metadata ?? {};
    const target = { apiVersion: 'v1', kind: 'Node', name: node };
    await this.#client.create(bindings, { metadata: { namespace: this.#namespace, name }, target });
  }

  async setStatus(pod: Pod, status: PodStatus): Promise<void> {
    const ref = { namespace: this.#namespace, name: pod.metadata?.name ?? '' };
    await this.#client.mergePatch(pods, ref, { status }, { subresource: 'status' });
  }

  /** Runs a Job's containers for real, one after another; the exit codes, by container. */
  async run(job: Job, script = runnerMain): Promise<Record<string, number>> {
    return this.execute(await this.podOf(job), script);
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
        if (!isSilent) await this.setStatus(pod, this.#podStatus(pod, codes, container.name));
        codes[container.name] = killed()
          ? exitCodes.stopped
          : await this.#runContainer(container, { workspace, script, pod });
        if (codes[container.name] !== 0) break;
      }
      if (!isSilent && killed()?.isLost !== true)
        await this.setStatus(pod, { ...this.#podStatus(pod, codes), ...killed()?.status });
      return codes;
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  }

  async #runContainer(container: Container, { workspace, script, pod }: PodPlace): Promise<number> {
    const env = { ...(await this.#environment(container)), ...this.#variables };
    const { name = '', labels } = pod.metadata ?? {};
    // The Job controller adds this variable with a reference to the label.
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

  #podStatus(pod: Pod, codes: Readonly<Record<string, number>>, running?: string): PodStatus {
    return podStatus(pod, { codes, ends: this.#ends.get(pod.metadata?.name ?? '') ?? {} }, running);
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

  /** Runs every pod that comes up, until the watch is stopped. */
  runAll(script = runnerMain): PodWatch {
    return watchPods({ client: this.#client, namespace: this.#namespace }, async (pod, deleted) => {
      const killOf = () => this.#kills.get(pod.metadata?.name ?? '');
      deleted.addEventListener('abort', () => killOf() ?? this.kill(pod));
      await this.bind(pod);
      await this.execute(pod, script);
      if (deleted.aborted && killOf()?.isLost !== true) await this.removePod(pod);
    });
  }
}

/**
 * The value that Kubernetes makes of `env[].value`: `$(NAME)` of an earlier variable is replaced, and `$$` is one `$`.
 */
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
function podStatus(pod: Pod, { codes, ends }: EndedContainers, running?: string): PodStatus {
  const { initContainers = [], containers } = pod.spec ?? { containers: [] };
  const state = ({ name }: Container) => ({
    name,
    image: 'runner',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: containerState(codes[name], name === running, ends[name]),
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

function containerState(exitCode: number | undefined, isRunning: boolean, end?: ContainerEnd) {
  if (exitCode !== undefined)
    return { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...end } };
  return isRunning ? { running: { startedAt: new Date().toISOString() } } : { waiting: { reason: 'PodInitializing' } };
}

export type { Job as BatchJob, Pod, PodStatus };
