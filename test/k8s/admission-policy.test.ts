import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { kubectl } from '../../testing/k8s/api-server.ts';
import {
  applyChartRbac,
  applyManifests,
  leastValues,
  type Manifest,
  renderChart,
  serviceAccounts,
} from '../../testing/k8s/chart.ts';
import { server, until } from '../../testing/k8s/cluster.ts';

// Names and labels of the controller are reserved for it, whatever the roles of others allow.

const suffix = randomBytes(3).toString('hex');
const places = { release: `release-${suffix}`, runners: `runners-${suffix}` };
const operator = `operator-${suffix}`;
const controller = `system:serviceaccount:${places.release}:${serviceAccounts.controller}`;

const jobId = randomUUID();
const mediaJob = (name: string, labels: Record<string, string> = {}, spec: object = {}): Manifest => ({
  apiVersion: 'reelwright.dev/v1alpha1',
  kind: 'MediaJob',
  metadata: { name, namespace: places.runners, labels },
  spec: { type: 'video:cover', hash: 'h', source: 'a.mp4', ...spec },
});

/** `kubectl create` as a user. */
function createAs(user: string, manifest: Manifest): Promise<string> {
  return kubectl(server, ['create', '--as', user, '-f', '-'], JSON.stringify(manifest));
}

/** `kubectl create` of a MediaJob, which fails on a warning. */
function createStrictly(namespace: string): Promise<string> {
  const manifest = { ...mediaJob('holiday'), metadata: { generateName: 'holiday-', namespace } };
  return kubectl(server, ['create', '--warnings-as-errors', '-f', '-'], JSON.stringify(manifest));
}

/** Sets or removes the API key that the namespace names: `=KEY` or `-`. */
const annotate = (value: string) =>
  kubectl(server, ['annotate', 'namespace', places.runners, '--overwrite', `reelwright.dev/key${value}`]);

beforeAll(async () => {
  await applyChartRbac(places);
  const manifests = await renderChart({ ...leastValues, runners: { namespace: places.runners } }, places.release);
  // The operator may do everything with the kinds that the policy is about.
  const rules = [
    { apiGroups: ['reelwright.dev', 'batch', ''], resources: ['mediajobs', 'jobs', 'secrets'], verbs: ['*'] },
  ];
  const api = 'rbac.authorization.k8s.io';
  const metadata = { name: 'operator', namespace: places.runners };
  await applyManifests([
    ...manifests.filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy')),
    { apiVersion: `${api}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${api}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: api, kind: 'Role', name: 'operator' },
      subjects: [{ kind: 'User', apiGroup: api, name: operator }],
    },
  ]);
  // The API server takes a moment to enforce a new policy.
  const probe = mediaJob(`mj-${randomUUID()}`);
  await until('the policy is enforced', async () => {
    const result = await kubectl(
      server,
      ['create', '--as', operator, '--dry-run=server', '-f', '-'],
      JSON.stringify(probe),
    ).catch(String);
    return result.includes('reserved');
  });
});

describe('names and labels that are reserved for the controller', () => {
  test.each([
    ['a MediaJob under the name of a queued job', mediaJob(`mj-${jobId}`), /names that begin with "mj-" are reserved/],
    [
      'a MediaJob with the label of another job',
      mediaJob('mine', { 'reelwright.dev/job-id': jobId }),
      /labels that begin with "reelwright.dev\/" are reserved/,
    ],
    [
      'a Job under the name of an attempt',
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: `mj-${jobId}-1`, namespace: places.runners },
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } } },
      },
      /names that begin with "mj-" are reserved/,
    ],
    [
      'a Secret under the name of a content key',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: `mj-${jobId}-1-key`, namespace: places.runners } },
      /names that begin with "mj-" are reserved/,
    ],
  ])('the API server refuses %s from anyone but the controller', async (_, manifest, message) => {
    await expect(createAs(operator, manifest)).rejects.toThrow(message);
  });

  test('the controller may create MediaJobs with its names and labels', async () => {
    const manifest = mediaJob(`mj-${randomUUID()}`, { 'reelwright.dev/job-id': randomUUID() });
    expect(await createAs(controller, manifest)).toContain('created');
  });

  test('others may create MediaJobs with other names, and suspend MediaJobs of the controller', async () => {
    expect(await createAs(operator, mediaJob('holiday', { team: 'video' }))).toContain('created');
    const name = `mj-${randomUUID()}`;
    await createAs(controller, mediaJob(name, { 'reelwright.dev/job-id': randomUUID() }));
    const patch = ['-n', places.runners, 'patch', 'mj', name, '--as', operator, '--type=merge', '-p'];
    expect(await kubectl(server, [...patch, '{"spec":{"suspend":true}}'])).toContain('patched');
    await expect(kubectl(server, [...patch, '{"metadata":{"labels":{"reelwright.dev/job-id":null}}}'])).rejects.toThrow(
      /labels that begin with/,
    );
    await expect(kubectl(server, [...patch, '{"metadata":{"labels":{"reelwright.dev/pool":"x"}}}'])).rejects.toThrow(
      /labels that begin with/,
    );
  });

  test('a MediaJob in a namespace that no controller of the release reads is created with a warning', async () => {
    await until('the policy is enforced', async () => {
      const result = await createStrictly(places.release).catch(String);
      return result.includes(
        `reads MediaJobs, MediaProfiles and MediaRollouts of the namespace ${places.runners} only`,
      );
    });
    // Other releases of the same API server may warn.
    expect(await createStrictly(places.runners).catch(String)).not.toContain(`the namespace ${places.runners} only`);
  });

  test('C36.12: in a namespace that names an API key, others create MediaJobs of that key only', async () => {
    await annotate('=aaaaaaaa');
    const create = (spec: object) => createAs(operator, mediaJob(`of-key-${randomUUID()}`, {}, spec));
    const refusal = 'spec.key must be aaaaaaaa, the API key of this namespace (its annotation reelwright.dev/key)';
    await until('the annotation is known', async () => (await create({}).catch(String)).includes(refusal));
    await expect(create({ key: 'bbbbbbbb' })).rejects.toThrow(refusal);
    expect(await create({ key: 'aaaaaaaa' })).toContain('created');
    expect(await createAs(controller, mediaJob(`mj-${randomUUID()}`)), 'the controller may').toContain('created');
    await annotate('-');
    await until('the namespace names none', async () =>
      (await create({ key: 'bbbbbbbb' }).catch(String)).includes('created'),
    );
  });

  test('the policy is about the runners’ namespace and no other', async () => {
    const manifest = {
      ...mediaJob(`mj-${randomUUID()}`),
      metadata: { name: `mj-${randomUUID()}`, namespace: places.release },
    };
    expect(await kubectl(server, ['create', '-f', '-'], JSON.stringify(manifest))).toContain('created');
  });
});
