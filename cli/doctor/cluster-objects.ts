import { KubeClient } from '#platform/kubernetes/client.ts';
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
import { type Check, fault, type Finding, type Ground } from './check.ts';

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

/** The scheduler's first two questions: the labels of the pool, then the taints that it does not tolerate. */
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
  const untolerated = labelled.map((node) => taintsAgainst(spec, node));
  if (untolerated.some((taints) => taints.length === 0)) return [];
  const taint = untolerated[0]?.[0] ?? '';
  const remedy = `add a toleration of ${taint} to the pool, or a node without it`;
  return [fault(`the RunnerPool ${name} fits no node: it does not tolerate the taint ${taint}`, remedy)];
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

export const clusterObjectChecks: readonly Check[] = [pools, runnerPods, profiles];
