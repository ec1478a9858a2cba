import { describe, expect, onTestFinished, test } from 'vitest';
import { hasReason, isExpired } from '#platform/kubernetes/errors.ts';
import { jobs, pods, type Wire } from '#platform/kubernetes/objects.ts';
import type { V1Job } from '@kubernetes/client-node';
import { adminCredentials, clientFor, newNamespace, server } from '../../testing/k8s/cluster.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { configMaps, namespaces } from '../../testing/k8s/kinds.ts';
import { compactEtcd } from '../../testing/k8s/api-server.ts';

describe('objects', () => {
  test('an object that was created can be read, listed, patched and deleted', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const made = await client.create(configMaps, { metadata: { name: 'a', namespace }, data: { x: '1' } });
    expect(made.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect((await client.get(configMaps, { namespace, name: 'a' })).data).toEqual({ x: '1' });
    await client.mergePatch(configMaps, { namespace, name: 'a' }, { data: { y: '2' } });
    const { items } = await client.list(configMaps, { namespace });
    expect(items.map((item) => item.data)).toEqual([{ x: '1', y: '2' }]);
    await client.delete(configMaps, { namespace, name: 'a' });
    await expect(client.get(configMaps, { namespace, name: 'a' })).rejects.toMatchObject({
      name: 'KubeError',
      status: 404,
      reason: 'NotFound',
    });
  });

  test('a second object of one name is refused as AlreadyExists', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    await client.create(configMaps, { metadata: { name: 'a', namespace } });
    const error = await client.create(configMaps, { metadata: { name: 'a', namespace } }).catch((e: unknown) => e);
    expect(hasReason(error, 'AlreadyExists')).toBe(true);
    expect(error).toMatchObject({ status: 409 });
  });

  test('a merge patch with an old resource version is a Conflict and changes nothing', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const ref = { namespace, name: 'a' };
    const first = await client.create(configMaps, { metadata: ref, data: { x: '1' } });
    await client.mergePatch(configMaps, ref, { data: { x: '2' } });
    const { resourceVersion } = first.metadata;
    const late = client.mergePatch(configMaps, ref, { metadata: { resourceVersion }, data: { x: '3' } });
    await expect(late).rejects.toMatchObject({ reason: 'Conflict', status: 409 });
    expect((await client.get(configMaps, ref)).data).toEqual({ x: '2' });
  });

  test('a delete by uid spares an object that took the name since', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const ref = { namespace, name: 'a' };
    const first = await client.create(configMaps, { metadata: ref });
    await client.delete(configMaps, ref);
    await client.create(configMaps, { metadata: ref });
    await expect(client.delete(configMaps, ref, { uid: first.metadata.uid ?? '' })).rejects.toMatchObject({
      reason: 'Conflict',
    });
    await client.get(configMaps, ref);
  });

  test('an invalid object is refused with the field named', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const wrong = client.create(configMaps, { metadata: { name: 'No_Such_Name', namespace } });
    await expect(wrong).rejects.toMatchObject({ reason: 'Invalid', causes: [{ field: 'metadata.name' }] });
  });

  test('an unprivileged user is Forbidden and an unknown one Unauthorized', async () => {
    const unprivileged = clientFor(adminCredentials(server.url, { token: server.unprivilegedToken }));
    await expect(unprivileged.list(configMaps)).rejects.toMatchObject({ reason: 'Forbidden', status: 403 });
    const unknown = clientFor(adminCredentials(server.url, { token: 'no-such-token' }));
    await expect(unknown.list(configMaps)).rejects.toMatchObject({ reason: 'Unauthorized', status: 401 });
  });
});

describe('server-side apply', () => {
  test('server-side apply is recorded under our field manager and drops a field that is no longer applied', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const metadata = { name: 'a', namespace };
    await client.apply(configMaps, { metadata, data: { ours: '1', dropped: '1' } });
    await client.mergePatch(configMaps, metadata, { data: { theirs: '1' } });
    const applied = await client.apply(configMaps, { metadata, data: { ours: '2' } });
    expect(applied.data).toEqual({ ours: '2', theirs: '1' });
    const { managedFields } = applied.metadata as { managedFields?: { manager: string; operation: string }[] };
    expect(managedFields).toContainEqual(
      expect.objectContaining({ manager: 'reelwright-controller', operation: 'Apply' }),
    );
  });

  test('server-side apply of the same object twice writes nothing the second time', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const object = { metadata: { name: 'a', namespace }, data: { x: '1' } };
    const first = await client.apply(configMaps, object);
    const second = await client.apply(configMaps, object);
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test('server-side apply reaches the status of a Job and leaves its spec alone', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const metadata = { name: 'a', namespace };
    await client.create(jobs, { metadata, spec: jobSpec });
    const patched = await client.mergePatch(
      jobs,
      metadata,
      { status: { active: 1 }, spec: { suspend: true } },
      { subresource: 'status' },
    );
    expect(patched.status?.active).toBe(1);
    expect(patched.spec?.suspend).toBe(false);
  });
});

test('the status of a Pod is written as a kubelet would', async () => {
  const client = clientFor();
  const namespace = await newNamespace(client);
  const metadata = { name: 'a', namespace };
  await client.create(pods, { metadata, spec: { containers: [{ name: 'x', image: 'x' }] } });
  const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }];
  await client.mergePatch(pods, metadata, { status: { phase: 'Failed', conditions } }, { subresource: 'status' });
  const pod = await client.get(pods, metadata);
  expect(pod.status).toMatchObject({ phase: 'Failed', conditions });
  // Times are text on the wire, whatever client-node's classes say.
  expect(typeof pod.metadata?.creationTimestamp).toBe('string');
});

describe('pages', () => {
  test('a list of more than 500 objects comes in pages that hold each object once', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    await makeMany(client, namespace, 501);
    const names: string[] = [];
    let pages = 0;
    for (let mark: string | undefined, isFirst = true; isFirst || mark; isFirst = false) {
      const page = await client.list(configMaps, { namespace, limit: 200, ...(mark ? { continue: mark } : {}) });
      names.push(...page.items.map((item) => item.metadata.name ?? ''));
      mark = page.metadata.continue;
      pages += 1;
    }
    expect(pages).toBe(3);
    expect(new Set(names).size).toBe(501);
    expect(names).toHaveLength(501);
  });

  test('a page whose snapshot was compacted is Expired', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    await makeMany(client, namespace, 4);
    const first = await client.list(configMaps, { namespace, limit: 2 });
    await makeMany(client, namespace, 2, 'more');
    await compactEtcd(server);
    const second = await client
      .list(configMaps, { namespace, limit: 2, continue: first.metadata.continue ?? '' })
      .catch((error: unknown) => error);
    expect(isExpired(second)).toBe(true);
    expect(second).toMatchObject({ status: 410 });
  });
});

describe('watch', () => {
  test('a watch reports added, modified and deleted objects since a resource version', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const ref = { namespace, name: 'a' };
    const { metadata } = await client.list(configMaps, { namespace });
    await client.create(configMaps, { metadata: ref });
    await client.mergePatch(configMaps, ref, { data: { x: 'ünïcödé' } });
    await client.delete(configMaps, ref);
    const seen: string[] = [];
    for await (const event of client.watch(configMaps, {
      namespace,
      resourceVersion: metadata.resourceVersion ?? '',
      timeoutSeconds: 30,
    })) {
      if (event.type === 'BOOKMARK') continue;
      seen.push(`${event.type} ${event.object.data?.['x'] ?? ''}`.trim());
      if (event.type === 'DELETED') break;
    }
    expect(seen).toEqual(['ADDED', 'MODIFIED ünïcödé', 'DELETED ünïcödé']);
  });

  test('a watch gives a bookmark before the server ends it', async () => {
    const client = clientFor();
    const { metadata } = await client.list(namespaces);
    const types: string[] = [];
    // The server sends bookmarks only about a kind that changed since the watch began.
    const change = setTimeout(() => void newNamespace(client), 500);
    onTestFinished(() => clearTimeout(change));
    for await (const event of client.watch(namespaces, {
      resourceVersion: metadata.resourceVersion ?? '',
      timeoutSeconds: 6,
    })) {
      types.push(event.type);
    }
    expect(types).toContain('BOOKMARK');
  });

  test('a watch from a compacted version is Expired', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const { metadata } = await client.list(configMaps, { namespace });
    await makeMany(client, namespace, 2);
    await compactEtcd(server);
    const watch = client.watch(configMaps, {
      namespace,
      resourceVersion: metadata.resourceVersion ?? '',
      timeoutSeconds: 30,
    });
    const error = await watch.next().catch((e: unknown) => e);
    expect(isExpired(error)).toBe(true);
  });

  test('a watch ends with the reason of its signal when that is aborted', async () => {
    const client = clientFor();
    const namespace = await newNamespace(client);
    const { metadata } = await client.list(configMaps, { namespace });
    const controller = new AbortController();
    const watch = client.watch(configMaps, {
      namespace,
      resourceVersion: metadata.resourceVersion ?? '',
      timeoutSeconds: 30,
      signal: controller.signal,
    });
    const next = watch.next();
    setTimeout(() => controller.abort(new Error('enough')), 200);
    await expect(next).rejects.toThrow('enough');
  });
});

test('a request on a silent connection ends at its time limit, and the next goes over another', async () => {
  const proxy = await FaultyProxy.start();
  const client = clientFor(adminCredentials(proxy.url), { timeoutMs: 400, connectionsMax: 1 });
  await client.list(namespaces);
  proxy.mute();
  await expect(client.list(namespaces)).rejects.toMatchObject({ reason: 'Deadline', status: 0 });
  await client.list(namespaces);
});

test('a reset connection is Unreachable and a 429 is TooManyRequests', async () => {
  const proxy = await FaultyProxy.start();
  const client = clientFor(adminCredentials(proxy.url));
  proxy.answer(/^GET/, 429, { headers: { 'retry-after': '7' } });
  await expect(client.list(namespaces)).rejects.toMatchObject({ reason: 'TooManyRequests', retryAfterMs: 7000 });
  proxy.refuse();
  await expect(client.list(namespaces)).rejects.toMatchObject({ reason: 'Unreachable', status: 0 });
});

test('many requests go over few connections', async () => {
  const proxy = await FaultyProxy.start();
  const client = clientFor(adminCredentials(proxy.url), { connectionsMax: 3 });
  await Promise.all(Array.from({ length: 60 }, () => client.list(namespaces, { limit: 1 })));
  for (let i = 0; i < 20; i += 1) await client.list(namespaces, { limit: 1 });
  expect(proxy.linksEver).toBeLessThanOrEqual(3);
});

test('a guard that throws prevents writes but not reads', async () => {
  const client = clientFor();
  const namespace = await newNamespace(client);
  const guarded = client.guardedBy(() => {
    throw new Error('not the leader');
  });
  await expect(guarded.create(configMaps, { metadata: { name: 'a', namespace } })).rejects.toThrow('not the leader');
  expect((await guarded.list(configMaps, { namespace })).items).toHaveLength(0);
});

const jobSpec: NonNullable<Wire<V1Job>['spec']> = {
  suspend: false,
  template: {
    spec: { restartPolicy: 'Never', containers: [{ name: 'x', image: 'x' }] },
  },
};

async function makeMany(client: ReturnType<typeof clientFor>, namespace: string, count: number, prefix = 'm') {
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      client.create(configMaps, { metadata: { name: `${prefix}-${i}`, namespace } }),
    ),
  );
}
