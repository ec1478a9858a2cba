import { z } from 'zod';
import { apiVersion, type CustomResource } from '#domain/kubernetes/custom-resource.ts';
import { customResources } from '#domain/kubernetes/index.ts';
import { KubeError } from '#platform/kubernetes/errors.ts';
import { type Check, fault, type Finding, type Ground } from './check.ts';
import { clusterRights, type RequiredRight } from './cluster-rights.ts';
import { connectionFault } from './connection-faults.ts';

// The cluster: whether it answers, what this account may do there, and whether our definitions are there and as this
// version needs them.

const notKubernetes = ({ config }: Ground) => (config.kubernetes === null ? 'the executor is not kubernetes' : null);

const cluster: Check = {
  name: 'cluster',
  needs: ['configuration'],
  unless: notKubernetes,
  run: async (ground) => {
    const { runnerNamespace: name } = ground.kubernetes;
    try {
      const connection = await ground.cluster;
      const path = `/api/v1/namespaces/${encodeURIComponent(name)}`;
      await connection.exchange({ method: 'GET', path, what: `get namespaces ${name}`, signal: ground.signal });
      return [];
    } catch (error) {
      return clusterFault(error, name);
    }
  },
};

function clusterFault(error: unknown, namespace: string): Finding[] {
  const { status, message } = error as KubeError;
  // Which right is missing is a check of its own.
  if (status === 403) return [];
  if (status === 404)
    return [fault(`RUNNER_NAMESPACE: there is no namespace ${namespace}`, `kubectl create namespace ${namespace}`)];
  if (status === 401)
    return [
      fault('the API server refuses the credentials', 'correct the kubeconfig, or the service account of this pod'),
    ];
  const known = connectionFault(error, 'the API server of the cluster');
  return [known ?? fault(`the API server of the cluster: ${message}`, 'correct KUBECONFIG, or start the cluster')];
}

const rights: Check = {
  name: 'cluster rights',
  needs: ['cluster'],
  run: async (ground) => {
    const { runnerNamespace, podNamespace } = ground.kubernetes;
    const places = { runners: runnerNamespace, release: podNamespace, cluster: '' };
    const answers = await Promise.all(
      clusterRights.map(async (right) => {
        const namespace = places[right.where];
        return (await isAllowed(ground, right, namespace)) ? [] : [rightFault(right, namespace)];
      }),
    );
    return answers.flat();
  },
};

const reviewSchema = z.looseObject({ status: z.looseObject({ allowed: z.boolean() }) });

async function isAllowed(ground: Ground, right: RequiredRight, namespace: string): Promise<boolean> {
  const { group, verb, name = '' } = right;
  const [resource = '', subresource = ''] = right.resource.split('/');
  const connection = await ground.cluster;
  const answer = await connection.exchange({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    what: 'create selfsubjectaccessreviews',
    signal: ground.signal,
    body: {
      type: 'application/json',
      value: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { namespace, group, resource, subresource, verb, name } },
      },
    },
  });
  return reviewSchema.parse(answer).status.allowed;
}

function rightFault({ group, resource, verb }: RequiredRight, namespace: string): Finding {
  const kind = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === '' ? 'in the cluster' : `in the namespace ${namespace}`;
  const remedy = 'install the chart again with rights of an administrator, or add the verb to its role';
  return fault(`the account of this process may not ${verb} ${kind} ${where}`, remedy);
}

const definitions: Check = {
  name: 'definitions',
  needs: ['cluster'],
  run: async (ground) => {
    const connection = await ground.cluster;
    const get = (path: string) =>
      connection.exchange({ method: 'GET', path, what: `get ${path}`, signal: ground.signal });
    const remedy = 'kubectl apply --server-side -f crds/ of this version';
    const [group = ''] = apiVersion.split('/');
    const served = groupSchema.safeParse(await get(`/apis/${group}`).catch(nullWhenMissing)).data;
    if (served === undefined)
      return [fault(`the definitions (CRDs) of ${group} are not installed in the cluster`, remedy)];
    const versions = served.versions.map(({ groupVersion }) => groupVersion);
    if (!versions.includes(apiVersion))
      return [fault(`the definitions of ${group} are of ${versions.join(', ')}, expected ${apiVersion}`, remedy)];
    const document = openApiSchema.parse(await get(`/openapi/v3/apis/${apiVersion}`));
    return customResources.flatMap((kind) => definitionFindings(kind, document.components.schemas, remedy));
  },
};

const groupSchema = z.looseObject({ versions: z.array(z.looseObject({ groupVersion: z.string() })) });
const fieldsSchema = z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) });
const kindSchema = z.looseObject({
  properties: z.looseObject({ spec: fieldsSchema.optional() }).default({}),
  'x-kubernetes-group-version-kind': z.array(z.looseObject({ kind: z.string() })).default([]),
});
const openApiSchema = z.looseObject({ components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }) });

function nullWhenMissing(error: unknown): null {
  if (error instanceof KubeError && error.status === 404) return null;
  throw error;
}

/** An older definition drops the fields that it does not know, without a word. */
function definitionFindings(
  { kind, spec }: CustomResource,
  schemas: Record<string, unknown>,
  remedy: string,
): Finding[] {
  const found = Object.values(schemas)
    .map((schema) => kindSchema.safeParse(schema).data)
    .find((schema) => schema?.['x-kubernetes-group-version-kind'].some((each) => each.kind === kind));
  if (found === undefined) return [fault(`the definition of ${kind} is not installed in the cluster`, remedy)];
  const known = Object.keys(found.properties.spec?.properties ?? {});
  const missing = Object.keys(fieldsOf(spec)).filter((field) => !known.includes(field));
  if (missing.length === 0) return [];
  return [fault(`the definition of ${kind} is of another version: it lacks ${missing.join(', ')}`, remedy)];
}

function fieldsOf(schema: z.ZodType): Record<string, unknown> {
  return schema instanceof z.ZodObject ? schema.shape : {};
}

export const clusterChecks: readonly Check[] = [cluster, rights, definitions];
