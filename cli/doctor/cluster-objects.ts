import { KubeClient } from '#platform/kubernetes/client.ts';
import { KubeError } from '#platform/kubernetes/errors.ts';
import {
  mediaProfiles,
  nodes,
  pods,
  type Resource,
  type KubeObject,
  runnerPools,
} from '#platform/kubernetes/objects.ts';
import { podProblemOf } from '../../controller/kubernetes/plan/pod-problem.ts';
import { trimPod } from '../../controller/kubernetes/snapshots/pod.ts';
import { type Check, fault, type Finding, type Ground, warning } from './check.ts';
import { type Amounts, exceeded, requestsOf, tooLittle } from './pool-needs.ts';

// What stands in the cluster: pools that no node fits, pods that cannot start, profiles that are not valid.

/** So many objects are looked at. */
const objectsMax = 500;

async function listed<T extends KubeObject>(ground: Ground, resource: Resource<T>): Promise<readonly T[]> {
  const namespace = resource.isNamespaced ? ground.kubernetes.runnerNamespace : undefined;
  const client = new KubeClient(await ground.cluster);
  return (await client.list(resource, { namespace, limit: objectsMax, signal: ground.signal })).items;
}

type Node = NonNullable<(typeof nodes)['example']>;
type Pool = NonNullable<(typeof runnerPools)['example']>;

const pools: Check = {
  name: 'pools',
  needs: ['cluster rights', 'definitions'],
  run: async (ground) => {
    const [allPools, allNodes] = [await listed(ground, runnerPools), await listed(ground, nodes)];
    return allPools.flatMap((pool) => [...placeFindings(pool, allNodes), ...lastErrorFindings(pool)]);
  },
};

/** Checks what the scheduler asks: the pool's labels, the taints that it does not tolerate, and its pods' requests. */
function placeFindings({ metadata, spec }: Pool, allNodes: readonly Node[]): Finding[] {
  const name = metadata?.name ?? '';
  if (spec.concurrency === 0) return [];
  const selector = Object.entries(spec.nodeSelector ?? {});
  const labelled = allNodes.filter((node) =>
    selector.every(([label, value]) => node.metadata?.labels?.[label] === value),
  );
  const labels = selector.map(([label, value]) => `${label}=${value}`).join(',');
  if (labelled.length === 0)
    return [
      fault(
        `the RunnerPool ${name} fits no node: none has the labels ${labels}`,
        `kubectl label node NODE ${labels.replaceAll(',', ' ')}, or change nodeSelector, unless an autoscaler adds such nodes`,
      ),
    ];
  const tolerated = labelled.filter((node) => taintsAgainst(spec, node).length === 0);
  if (tolerated.length > 0) return sizeFindings(name, spec, tolerated);
  const [taint = ''] = labelled.flatMap((node) => taintsAgainst(spec, node));
  const remedy = `add a toleration of ${taint} to the pool, or a node without it`;
  return [fault(`the RunnerPool ${name} fits no node: it does not tolerate the taint ${taint}`, remedy)];
}

function sizeFindings(name: string, spec: Pool['spec'], allNodes: readonly Node[]): Finding[] {
  const requests = requestsOf(spec);
  // A node that has reported nothing yet is no fault.
  const lacking = allNodes.map(({ status }) => status?.allocatable && tooLittle(requests, status.allocatable));
  if (lacking.includes(undefined)) return [];
  const [resource = ''] = lacking as string[];
  const asked = `${resource} ${requests[resource]}`;
  const remedy = 'lower the requests of the pool, or add larger nodes, unless an autoscaler adds such nodes';
  return [fault(`the RunnerPool ${name} fits no node: it asks for ${asked}, which none of its nodes has`, remedy)];
}

/** The taints of a node that keep pods of a pool away. */
function taintsAgainst({ tolerations = [] }: Pool['spec'], { spec }: Node): string[] {
  const taints = (spec?.taints ?? []).filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  return taints
    .filter(
      (taint) =>
        !tolerations.some(
          ({ key = '', operator = 'Equal', value = '', effect = '' }) =>
            (key === '' || key === taint.key) &&
            (effect === '' || effect === taint.effect) &&
            (operator === 'Exists' || value === (taint.value ?? '')),
        ),
    )
    .map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);
}

function lastErrorFindings({ metadata, status }: Pool): Finding[] {
  const { lastError = '' } = status ?? {};
  if (lastError === '') return [];
  const remedy = 'kubectl describe the pool and its jobs; docs/guides/failure.md says what each cause costs';
  return [fault(`the RunnerPool ${metadata?.name} cannot run a job: ${lastError}`, remedy)];
}

const quotas: Resource<KubeObject & { readonly status?: { readonly hard?: Amounts; readonly used?: Amounts } }> = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  isNamespaced: true,
};

const namesIn = (names: readonly (string | null | undefined)[]) => [...new Set(names.filter((name) => name))];

const poolNeeds: Check = {
  name: 'pool needs',
  needs: ['cluster rights', 'definitions'],
  run: async (ground) => {
    const {
      runnerNamespace: namespace,
      runnerSourceSecret,
      runnerMediaSecret,
      runnerImagePullSecrets,
    } = ground.kubernetes;
    const active = (await listed(ground, runnerPools)).filter(({ spec }) => spec.concurrency > 0);
    const objects = [
      ...namesIn(active.map(({ spec }) => spec.priorityClassName)).map((name) => ({
        what: `the PriorityClass ${name} of a RunnerPool`,
        path: `/apis/scheduling.k8s.io/v1/priorityclasses/${name}`,
      })),
      ...namesIn(active.map(({ spec }) => spec.runtimeClassName)).map((name) => ({
        what: `the RuntimeClass ${name} of a RunnerPool`,
        path: `/apis/node.k8s.io/v1/runtimeclasses/${name}`,
      })),
      ...namesIn([runnerSourceSecret, runnerMediaSecret, ...runnerImagePullSecrets]).map((name) => ({
        what: `the Secret ${name} of the runners`,
        path: `/api/v1/namespaces/${namespace}/secrets/${name}`,
      })),
    ];
    const found = await Promise.all(
      objects.map(async (each) => ((await isMissing(ground, each.path)) ? [each.what] : [])),
    );
    const faults = found.flat().map((what) => fault(`${what} does not exist`, 'create it, or correct the name'));
    return [...faults, ...(await quotaFindings(ground, active))];
  },
};

/** Whether an object is known not to exist: what this account may not read is not asked. */
async function isMissing(ground: Ground, path: string): Promise<boolean> {
  try {
    await (await ground.cluster).exchange({ method: 'GET', path, what: `get ${path}`, signal: ground.signal });
    return false;
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return true;
    if (error instanceof KubeError && error.status === 403) return false;
    throw error;
  }
}

async function quotaFindings(ground: Ground, active: readonly Pool[]): Promise<Finding[]> {
  const all = await listed(ground, quotas).catch((error: unknown) => {
    if (error instanceof KubeError && error.status === 403) return [];
    throw error;
  });
  return all.flatMap(({ metadata, status = {} }) =>
    active.flatMap((pool) => {
      const bound = exceeded(requestsOf(pool.spec), status);
      if (bound === undefined) return [];
      const text = `the quota ${metadata?.name} has no room for a pod of the RunnerPool ${pool.metadata?.name}: ${bound}`;
      return [warning(text, 'raise the quota, unless pods that run leave room when they end')];
    }),
  );
}

const remedyOfPhase: Readonly<Record<string, string>> = {
  image_unavailable: 'correct RUNNER_IMAGE or RUNNER_IMAGE_PULL_SECRETS, or push the image',
  unschedulable: 'add nodes, or lower the requests of the pool',
};

const runnerPods: Check = {
  name: 'runner pods',
  needs: ['cluster rights'],
  run: async (ground) => {
    const all = await listed(ground, pods);
    const findings = all.flatMap((pod) => {
      const problem = podProblemOf(trimPod(pod), null);
      if (problem === null) return [];
      const image = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])][0]?.image ?? '';
      const remedy = remedyOfPhase[problem.phase] ?? `kubectl describe pod ${pod.metadata?.name}`;
      const which =
        problem.phase === 'image_unavailable' ? `the image ${image} cannot be pulled` : 'a pod cannot start';
      return [fault(`${which}: ${problem.reason}: ${problem.message}`, remedy)];
    });
    // A hundred pods that wait for one image are one fault.
    return [...new Map(findings.map((finding) => [finding.fault, finding])).values()];
  },
};

const profiles: Check = {
  name: 'media profiles',
  needs: ['cluster rights', 'definitions'],
  run: async (ground) =>
    (await listed(ground, mediaProfiles)).flatMap(({ metadata, status }) => {
      const invalid = status?.conditions?.find(({ type, status: state }) => type === 'Valid' && state === 'False');
      if (invalid === undefined) return [];
      const remedy = 'reelwright profiles check FILE names each fault of a profile before it is applied';
      return [fault(`the MediaProfile ${metadata?.name} is not valid: ${invalid.message}`, remedy)];
    }),
};

export const clusterObjectChecks: readonly Check[] = [pools, poolNeeds, runnerPods, profiles];
