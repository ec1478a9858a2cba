import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, pods, secrets } from '#platform/kubernetes/objects.ts';
import { runIndexed } from './indexed-job.ts';

// What the Job controller and a kubelet do for a Job, done by a test: a pod is made of its template, its containers
// run one after another as processes of this machine, and its status says what became of them.

type Job = NonNullable<(typeof jobs)['example']>;
type Pod = NonNullable<(typeof pods)['example']>;
type Container = NonNullable<Pod['spec']>['containers'][number];
type PodStatus = NonNullable<Pod['status']>;

const runnerMain = join(import.meta.dirname, '../../runner/main.ts');
/** Does as the source's name says (test/fixtures/scripted-runner.ts). */
export const scriptedRunner = join(import.meta.dirname, '../../test/fixtures/scripted-runner.ts');

const indexLabel = 'batch.kubernetes.io/job-completion-index';

interface PodPlace {
  readonly workspace: string;
  readonly script: string;
  /** Of a pod of an Indexed Job. */
  readonly index: string | undefined;
}

export class TestNode {
  readonly #client: KubeClient;
  readonly #namespace: string;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** The Jobs that are there, the oldest first. */
  async jobs(): Promise<Job[]> {
    const { items } = await this.#client.list(jobs, { namespace: this.#namespace });
    return items.toSorted((a, b) => String(a.metadata?.name).localeCompare(String(b.metadata?.name)));
  }

  /** Makes the pod of a Job, or that of an index, as its controller does; on a node if one is named. */
  async makePod(job: Job, { nodeName, index }: { nodeName?: string; index?: number } = {}): Promise<Pod> {
    const { name = '', uid = '' } = job.metadata ?? {};
    const { metadata, spec } = job.spec?.template ?? {};
    if (spec === undefined) throw new Error('a Job has a template');
    return this.#client.create(pods, {
      metadata: {
        namespace: this.#namespace,
        name: index === undefined ? `${name}-pod` : `${name}-${index}-pod`,
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
    });
  }

  async setStatus(pod: Pod, status: PodStatus): Promise<void> {
    const ref = { namespace: this.#namespace, name: pod.metadata?.name ?? '' };
    await this.#client.mergePatch(pods, ref, { status }, { subresource: 'status' });
  }

  /** Runs a Job's containers for real, one after another; the exit codes, by container. */
  async run(job: Job, script = runnerMain): Promise<Record<string, number>> {
    return this.execute(await this.makePod(job), script);
  }

  /** Runs a pod's containers for real, and writes its status as a kubelet does, unless it is to be silent. */
  async execute(pod: Pod, script = runnerMain, { isSilent = false } = {}): Promise<Record<string, number>> {
    const { initContainers = [], containers } = pod.spec ?? { containers: [] };
    const workspace = await mkdtemp(join(tmpdir(), 'reelwright-pod-'));
    const codes: Record<string, number> = {};
    try {
      for (const container of [...initContainers, ...containers]) {
        if (!isSilent) await this.setStatus(pod, statusOf(pod, codes, container.name));
        const index = pod.metadata?.labels?.[indexLabel];
        codes[container.name] = await this.#runContainer(container, { workspace, script, index });
        if (codes[container.name] !== 0) break;
      }
      if (!isSilent) await this.setStatus(pod, statusOf(pod, codes));
      return codes;
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  }

  async #runChunk(job: Job, index: number, script: string): Promise<boolean> {
    const codes = await this.execute(await this.makePod(job, { index }), script);
    return Object.values(codes).every((code) => code === 0);
  }

  async #runContainer(container: Container, where: PodPlace): Promise<number> {
    const env = await this.#environment(container);
    if (where.index !== undefined) env['JOB_COMPLETION_INDEX'] = where.index;
    for (const name of ['RUNNER_WORKSPACE', 'RUNNER_OUTPUT', 'HOME', 'TMPDIR']) env[name] = where.workspace;
    const child = spawn(process.execPath, [where.script, ...(container.args ?? [])], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['pipe', 'ignore', process.env['RIG_LOG'] === undefined ? 'ignore' : 'inherit'],
    });
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code) => resolve(code ?? 137));
    });
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

  /** Runs every Job that comes up, until the test is over. */
  runAll(until: AbortSignal, script = runnerMain): void {
    const begun = new Set<string>();
    const look = async () => {
      while (!until.aborted) {
        for (const job of await this.jobs()) {
          if (begun.has(job.metadata?.uid ?? '')) continue;
          begun.add(job.metadata?.uid ?? '');
          const isIndexed = job.spec?.completionMode === 'Indexed';
          const run = isIndexed
            ? runIndexed(job, this.#client, (index) => this.#runChunk(job, index, script))
            : this.run(job, script);
          run.catch((error: unknown) => {
            if (!hasReason(error, 'NotFound')) throw error;
          });
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    void look();
  }
}

/** What Kubernetes makes of `env[].value`: `$(NAME)` of an earlier variable is replaced, and `$$` is one `$`. */
function expanded(value: string, earlier: Readonly<Record<string, string>>): string {
  return value.replaceAll(/\$\$|\$\(([^)]*)\)/g, (found, name: string | undefined) =>
    name === undefined ? '$' : (earlier[name] ?? found),
  );
}

/** The status of a pod of which some containers have ended, and one may run. */
function statusOf(pod: Pod, codes: Readonly<Record<string, number>>, running?: string): PodStatus {
  const { initContainers = [], containers } = pod.spec ?? { containers: [] };
  const state = ({ name }: Container) => ({
    name,
    image: 'runner',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: stateOf(codes[name], name === running),
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

function stateOf(exitCode: number | undefined, isRunning: boolean) {
  if (exitCode !== undefined) return { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } };
  return isRunning ? { running: { startedAt: new Date().toISOString() } } : { waiting: { reason: 'PodInitializing' } };
}

export type { Job as BatchJob, Pod, PodStatus };
