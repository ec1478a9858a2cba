import { expect, onTestFinished, test } from 'vitest';
import { Reflector } from '#platform/kubernetes/reflector.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import { adminCredentials, clientFor, newNamespace, until } from '../../testing/k8s/cluster.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { type ConfigMap, configMaps } from '../../testing/k8s/kinds.ts';

// The smallest controller there is: every ConfigMap is to say how long its text is.

test('a reflector and a work queue reconcile 300 objects despite faults and then write nothing', async () => {
  const direct = clientFor();
  const namespace = await newNamespace(direct);
  const proxy = await FaultyProxy.start();
  const client = clientFor(adminCredentials(proxy.url));
  const log = { warn: () => {}, error: () => {} };
  const queue = new WorkQueue({
    name: 'lengths',
    concurrency: 8,
    log,
    handle: async (key) => {
      const [, name = ''] = key.split('/');
      const object = reflector.get(namespace, name);
      const length = String(object?.data?.['text']?.length);
      if (!object || object.data?.['length'] === length) return;
      await client.mergePatch(configMaps, { namespace, name }, { data: { length } });
    },
  });
  const add = (object: ConfigMap) => queue.add(keyOf(object));
  const reflector = new Reflector<ConfigMap, ConfigMap>({
    client,
    resource: configMaps,
    namespace,
    trim: ({ metadata, data = {} }) => ({ metadata, data }),
    handlers: { added: add, updated: add },
    log,
    pageSize: 100,
    relistEveryMs: 1500,
    backoff: { baseMs: 20, maxMs: 200 },
  });
  onTestFinished(async () => {
    await reflector.stop();
    await queue.stop();
  });
  proxy.answer(/^PATCH/, 429, { headers: { 'retry-after': '1' }, times: 5 });
  proxy.answer(/^PATCH/, 500, { times: 5 });
  await Promise.all([reflector.start(), queue.start()]);
  const names = Array.from({ length: 300 }, (_, i) => `c-${i}`);
  await Promise.all(
    names.map((name, i) => direct.create(configMaps, { metadata: { name, namespace }, data: { text: 'x'.repeat(i) } })),
  );
  proxy.reset();
  const areRight = async () => {
    const { items } = await direct.list(configMaps, { namespace });
    return items.every(({ data }) => data?.['length'] === String(data?.['text']?.length));
  };
  await until('all are right', areRight, 30_000);
  await until('the queue is empty', () => Object.values(queue.counts).every((count) => count === 0));
  const writes = proxy.count(/^(POST|PATCH|DELETE)/);
  const lists = proxy.count(/^GET (?!.*watch=true)/);
  await until('everything was listed again twice', () => proxy.count(/^GET (?!.*watch=true)/) >= lists + 6);
  expect(proxy.count(/^(POST|PATCH|DELETE)/)).toBe(writes);
});
