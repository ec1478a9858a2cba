import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { Connection } from '#platform/kubernetes/connection.ts';
import { events, mediaJobs, secrets } from '#platform/kubernetes/objects.ts';
import { applyChartRbac, serviceAccounts } from '../../testing/k8s/chart.ts';
import { adminCredentials, until } from '../../testing/k8s/cluster.ts';
import { conditionOf, openControllerRig } from '../../testing/k8s/controller.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { scriptedRunner } from '../../testing/k8s/node.ts';
import { unschedulable } from '../../testing/k8s/pod-states.ts';

// What each service account of the chart may do, as a table, compared with the answers of a real API server. The table
// is complete: the tests ask about every verb of every resource that the server has, and the allowed ones must equal
// it.

const suffix = randomBytes(3).toString('hex');
const places = { release: `release-${suffix}`, runners: `runners-${suffix}` };
/** A namespace that does not belong to the release, and the question about all namespaces at once. */
const [otherNamespace, allNamespaces] = ['default', ''];

const { api, delivery, controller, runner } = serviceAccounts;

/** The rights of each account beyond an account without roles: by namespace, `<resource>.<group>`, then verbs. */
const allowed: Record<string, Record<string, Record<string, string>>> = {
  [api]: {},
  [delivery]: {},
  // The account of runner pods, which mount no token of it. `default`: of any other pod of their namespace.
  [runner]: {},
  default: {},
  [controller]: {
    [places.runners]: {
      'mediajobs.reelwright.dev': 'create delete list watch',
      'mediajobs/status.reelwright.dev': 'patch',
      'mediaprofiles.reelwright.dev': 'create list watch',
      'mediaprofiles/status.reelwright.dev': 'patch',
      'mediarollouts.reelwright.dev': 'list watch',
      'mediarollouts/status.reelwright.dev': 'patch',
      'runnerpools.reelwright.dev': 'create get list patch watch',
      'runnerpools/status.reelwright.dev': 'patch',
      'jobs.batch': 'create delete list patch watch',
      pods: 'list watch',
      namespaces: 'get',
      secrets: 'create delete',
      events: 'list',
      'events.events.k8s.io': 'create patch',
    },
    [places.release]: { 'leases.coordination.k8s.io': 'create' },
  },
};

/** The rights to kinds that have no namespace. */
const clusterWide: Record<string, Record<string, string>> = { [controller]: { nodes: 'list watch' } };

let connection: Connection;

beforeAll(async () => {
  await applyChartRbac(places);
  connection = new Connection(adminCredentials());
  return () => connection.close();
});

interface Question {
  readonly namespace: string;
  readonly group: string;
  /** With its subresource after a slash. */
  readonly resource: string;
  readonly verb: string;
  readonly name?: string;
}

/** Whether the API server's authorizer would allow a request of an account. */
async function may(
  account: string,
  { namespace, group, resource: whole, verb, name = '' }: Question,
): Promise<boolean> {
  const home = [runner, 'default'].includes(account) ? places.runners : places.release;
  const [resource, subresource = ''] = whole.split('/');
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: `system:serviceaccount:${home}:${account}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${home}`, 'system:authenticated'],
      resourceAttributes: { namespace, verb, group, version: '*', resource, subresource, name },
    },
  };
  const review = await connection.exchange({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: { type: 'application/json', value: body },
    what: 'review an access',
  });
  return (review as { status: { allowed: boolean } }).status.allowed;
}

interface KnownResource {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
}

async function read<T>(path: string): Promise<T> {
  return (await connection.exchange({ method: 'GET', path, what: path })) as T;
}

/** Every resource and subresource of every group with its verbs, and the verbs that discovery does not list. */
async function knownResources(): Promise<KnownResource[]> {
  interface ResourceList {
    readonly groupVersion: string;
    readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
  }
  const { groups } = await read<{ groups: { preferredVersion: { groupVersion: string } }[] }>('/apis');
  const paths = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const lists = await Promise.all(paths.map((path) => read<ResourceList>(path)));
  const known = lists.flatMap(({ groupVersion, resources }) =>
    resources.map(({ name, verbs }) => ({
      group: groupVersion.includes('/') ? (groupVersion.split('/')[0] ?? '') : '',
      resource: name,
      verbs,
    })),
  );
  return [
    ...known,
    ...['users', 'groups', 'serviceaccounts'].map((resource) => ({ group: '', resource, verbs: ['impersonate'] })),
    ...['roles', 'clusterroles'].map((resource) => ({
      group: 'rbac.authorization.k8s.io',
      resource,
      verbs: ['bind', 'escalate'],
    })),
  ];
}

/** The rights of an account in a namespace beyond those of an account without any role. */
async function allowances(account: string, namespace: string): Promise<Record<string, string>> {
  const questions = (await knownResources()).flatMap(({ verbs, ...rest }) =>
    verbs.map((verb) => ({ ...rest, verb, namespace })),
  );
  const found = new Map<string, Set<string>>();
  await Promise.all(
    questions.map(async (question) => {
      if (!(await may(account, question)) || (await may('account-without-roles', question))) return;
      const name = question.group === '' ? question.resource : `${question.resource}.${question.group}`;
      found.set(name, (found.get(name) ?? new Set()).add(question.verb));
    }),
  );
  return Object.fromEntries([...found].map(([name, verbs]) => [name, [...verbs].toSorted().join(' ')]));
}

describe.each(Object.keys(allowed))('the service account %s', (account) => {
  const namespaces = {
    'the runners’': places.runners,
    'the release’s': places.release,
    another: otherNamespace,
    every: allNamespaces,
  };
  test.each(Object.entries(namespaces))('may do in %s namespace exactly what the table says', async (_, namespace) => {
    expect(await allowances(account, namespace)).toEqual({ ...allowed[account]?.[namespace], ...clusterWide[account] });
  });
});

describe('what no service account may do, whatever the table says', () => {
  const lease = { namespace: places.release, group: 'coordination.k8s.io', resource: 'leases', verb: 'patch' };
  test('the controller may renew its own Lease and no other', async () => {
    expect(await may(controller, { ...lease, name: 'reelwright-controller' })).toBe(true);
    expect(await may(controller, { ...lease, name: 'another' })).toBe(false);
    expect(await may(api, { ...lease, name: 'reelwright-controller' })).toBe(false);
  });

  test('the controller may read the runners’ namespace and no other', async () => {
    const question = { namespace: places.release, group: '', resource: 'namespaces', verb: 'get' };
    expect(await may(controller, { ...question, name: places.release })).toBe(false);
  });
});

test('the controller runs, reports, completes and cancels jobs with the rights of its service account', async () => {
  const rig = await openControllerRig();
  await applyChartRbac({ release: `r-${rig.namespace}`, runners: rig.namespace });
  const { status } = (await connection.exchange({
    method: 'POST',
    path: `/api/v1/namespaces/r-${rig.namespace}/serviceaccounts/${controller}/token`,
    body: { type: 'application/json', value: { spec: { expirationSeconds: 3600 } } },
    what: 'create a token',
  })) as { status: { token: string } };
  const proxy = await FaultyProxy.start();
  const client = new KubeClient(adminCredentials(proxy.url, { token: status.token }));
  onTestFinished(() => client.close());
  const kubernetes = { ...rig.kubernetes, podNamespace: `r-${rig.namespace}` };
  const config = { ...rig.config, kubernetes };
  rig.startWorker({ config, kubernetes: { client } });

  const id = await rig.submit('video:transcode', { source: `${rig.notes}/ok`, options: { encrypt: true } });
  await until('the job has a Job', async () => (await rig.node.jobs()).length === 1);
  const [job] = await rig.node.jobs();
  if (job === undefined) throw new Error('expected a Job, found none');
  const pod = await rig.node.podOf(job);
  await rig.node.setStatus(pod, unschedulable);
  await until('an Event reports the unschedulable pod', async () => {
    const { items } = await rig.admin.list(events, { namespace: rig.namespace });
    return items.some(({ reason }) => reason === 'Unschedulable');
  });
  await rig.node.execute(pod, scriptedRunner);
  await until(
    'the MediaJob is complete',
    async () => conditionOf(await rig.mediaJob(id), 'Complete') === 'True/Completed',
  );
  const left = await rig.admin.list(secrets, { namespace: rig.namespace });
  expect(left.items.filter(({ metadata }) => metadata?.name?.startsWith('mj-'))).toEqual([]);

  const second = await rig.submit('video:cover');
  await until('the job has a Job', async () => (await rig.node.jobs()).length === 2);
  await rig.admin.delete(mediaJobs, { namespace: rig.namespace, name: `mj-${second}` });
  await rig.ended(second);
  await until('its Job is deleted', async () => (await rig.node.jobs()).length === 1);
});
