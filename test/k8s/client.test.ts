import { describe, expect, onTestFinished, test } from 'vitest';
import { isExpired } from '#platform/kubernetes/errors.ts';
import { adminCredentials, clientFor, newNamespace, server } from '../../testing/k8s/cluster.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { configMaps, namespaces } from '../../testing/k8s/kinds.ts';
import { compactEtcd } from '../../testing/k8s/api-server.ts';

describe('objects', () => {
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
});

describe('pages', () => {
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

async function makeMany(client: ReturnType<typeof clientFor>, namespace: string, count: number, prefix = 'm') {
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      client.create(configMaps, { metadata: { name: `${prefix}-${i}`, namespace } }),
    ),
  );
}
