import { describe, expect, onTestFinished, test } from 'vitest';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { KubeObject } from '#platform/kubernetes/objects.ts';
import { secrets } from '#platform/kubernetes/objects.ts';
import { Reflector, type ReflectorOptions } from '#platform/kubernetes/reflector.ts';
import { compactEtcd } from '../../testing/k8s/api-server.ts';
import { adminCredentials, clientFor, newNamespace, server, until } from '../../testing/k8s/cluster.ts';
import { type ConfigMap, configMaps } from '../../testing/k8s/kinds.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';

const listLine = /^GET [^?]*configmaps(?!.*watch=true)/;
const watchLine = /^GET .*configmaps\?.*watch=true/;

interface Kept extends KubeObject {
  metadata: { name: string; namespace: string; uid: string; resourceVersion: string };
}

function trim({ metadata: { name = '', namespace = '', uid = '', resourceVersion = '' } }: ConfigMap): Kept {
  return { metadata: { name, namespace, uid, resourceVersion } };
}

/** A reflector behind a faulty proxy, and a client that is not behind it. */
async function reflected(options: Partial<ReflectorOptions<ConfigMap, Kept>> = {}) {
  const direct = clientFor();
  const namespace = await newNamespace(direct);
  const proxy = await FaultyProxy.start();
  const reported: string[] = [];
  const problems: { err?: unknown; retry_in_ms?: number }[] = [];
  const reflector = new Reflector<ConfigMap, Kept>({
    client: clientFor(adminCredentials(proxy.url)),
    resource: configMaps,
    namespace,
    trim,
    handlers: {
      added: (object) => reported.push(`added ${object.metadata.name}`),
      updated: (object) => reported.push(`updated ${object.metadata.name}`),
      deleted: (object) => reported.push(`deleted ${object.metadata.name}`),
    },
    log: { warn: (fields) => problems.push(fields), error: (fields) => problems.push(fields) },
    backoff: { baseMs: 20, maxMs: 200 },
    ...options,
  });
  onTestFinished(() => reflector.stop());
  return { direct, namespace, proxy, reported, problems, reflector };
}

function make(client: KubeClient, namespace: string, ...names: string[]) {
  return Promise.all(names.map((name) => client.create(configMaps, { metadata: { name, namespace } })));
}

describe('a reflector', () => {
  test('a reflector lists more than 500 objects in pages and keeps each trimmed', async () => {
    const { direct, namespace, proxy, reflector } = await reflected({ pageSize: 200 });
    await make(direct, namespace, ...Array.from({ length: 501 }, (_, i) => `c-${i}`));
    await reflector.start();
    expect(reflector.hasSynced).toBe(false);
    await reflector.whenSynced();
    expect(reflector.hasSynced).toBe(true);
    expect(reflector.size).toBe(501);
    expect(proxy.count(listLine)).toBe(3);
    expect(Object.keys(reflector.get(namespace, 'c-500') ?? {})).toEqual(['metadata']);
  });

  test('a reflector follows what is created, changed and deleted', async () => {
    const { direct, namespace, reported, reflector } = await reflected();
    await reflector.start();
    await reflector.whenSynced();
    await make(direct, namespace, 'a');
    await direct.mergePatch(configMaps, { namespace, name: 'a' }, { data: { x: '1' } });
    await direct.delete(configMaps, { namespace, name: 'a' });
    await until('all three are reported', () => reported.length === 3);
    expect(reported).toEqual(['added a', 'updated a', 'deleted a']);
    expect(reflector.size).toBe(0);
  });

  test('a reflector continues from its last version after its connection is reset', async () => {
    const { direct, namespace, proxy, reported, reflector } = await reflected();
    await reflector.start();
    await reflector.whenSynced();
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      await until('the watch is open', () => proxy.count(watchLine) > index);
      proxy.reset();
      await make(direct, namespace, name);
      await until(`${name} is seen`, () => reported.includes(`added ${name}`));
    }
    expect(proxy.count(listLine)).toBe(1);
  });

  test('a reflector aborts a silent connection and catches up', async () => {
    const { direct, namespace, proxy, reported, problems, reflector } = await reflected({ silenceMs: 700 });
    await reflector.start();
    await reflector.whenSynced();
    await until('the watch is open', () => proxy.count(watchLine) === 1);
    proxy.mute();
    await make(direct, namespace, 'a');
    await until('a is seen', () => reported.includes('added a'), 5000);
    expect(proxy.count(listLine)).toBe(1);
    expect(String(problems[0]?.err)).toContain('no event for 700 ms');
  });

  test('a reflector waits for the Retry-After of a 429 and watches again', async () => {
    const { direct, namespace, proxy, reported, problems, reflector } = await reflected();
    proxy.answer(watchLine, 429, { headers: { 'retry-after': '1' }, times: 2 });
    const startedMs = performance.now();
    await reflector.start();
    await reflector.whenSynced();
    await make(direct, namespace, 'a');
    await until('a is seen', () => reported.includes('added a'));
    expect(performance.now() - startedMs).toBeGreaterThan(2000);
    expect(problems.map(({ retry_in_ms: delayMs }) => (delayMs ?? 0) >= 1000)).toEqual([true, true]);
    expect(proxy.count(watchLine)).toBe(3);
  });

  test('a reflector lists again after its history is compacted, and reports a reused name as two objects', async () => {
    const { direct, namespace, proxy, reported, problems, reflector } = await reflected();
    await make(direct, namespace, 'reborn', 'removed', 'same');
    await reflector.start();
    await reflector.whenSynced();
    const before = reflector.get(namespace, 'reborn')?.metadata.uid;
    await until('the watch is open', () => proxy.count(watchLine) === 1);
    proxy.refuse();
    reported.length = 0;
    await direct.delete(configMaps, { namespace, name: 'reborn' });
    await direct.delete(configMaps, { namespace, name: 'removed' });
    await make(direct, namespace, 'reborn', 'new');
    await compactEtcd(server);
    proxy.accept();
    await until('the new one is seen', () => reported.includes('added new'));
    expect(reported.toSorted()).toEqual(['added new', 'added reborn', 'deleted reborn', 'deleted removed']);
    expect(reported.indexOf('deleted reborn')).toBeLessThan(reported.indexOf('added reborn'));
    expect(reflector.get(namespace, 'reborn')?.metadata.uid).not.toBe(before);
    expect(proxy.count(listLine)).toBe(2);
    // The real server says it as an ERROR event within a watch that was answered with 200.
    expect(problems.some(({ err }) => String(err).includes('too old') || String(err).includes('compacted'))).toBe(true);
  });

  test('a reflector continues when its list fails repeatedly after a 410', async () => {
    const { direct, namespace, proxy, reported, reflector } = await reflected();
    await reflector.start();
    await reflector.whenSynced();
    await until('the watch is open', () => proxy.count(watchLine) === 1);
    proxy.answer(listLine, 500, { times: 3 });
    proxy.answer(watchLine, 410, { times: 1 });
    proxy.reset();
    await make(direct, namespace, 'a');
    await until('a is seen', () => reported.includes('added a'));
    expect(proxy.count(listLine)).toBe(5);
  });

  test('a reflector lists without pages when the pages of its list expire midway', async () => {
    const { direct, namespace, proxy, reflector } = await reflected({ pageSize: 2 });
    await make(direct, namespace, 'a', 'b', 'c', 'd', 'e');
    proxy.answer(/continue=/, 410);
    await reflector.start();
    await reflector.whenSynced();
    expect(reflector.size).toBe(5);
    expect(proxy.count(listLine)).toBe(3);
  });

  test('a reflector lists everything again on its timer and does not report unchanged objects', async () => {
    const { direct, namespace, proxy, reported, reflector } = await reflected({ relistEveryMs: 1000 });
    await make(direct, namespace, 'a');
    await reflector.start();
    await until('four lists were made', () => proxy.count(listLine) >= 4);
    expect(reported).toEqual(['added a']);
  });

  test('a reflector continues after a handler throws', async () => {
    const seen: string[] = [];
    const { direct, namespace, problems, reflector } = await reflected({
      handlers: {
        added: ({ metadata }) => {
          seen.push(metadata.name);
          throw new Error('thrown by a handler');
        },
      },
    });
    await reflector.start();
    await reflector.whenSynced();
    await make(direct, namespace, 'a');
    await make(direct, namespace, 'b');
    await until('both are seen', () => seen.length === 2);
    expect(problems.map(({ err }) => String(err))).toEqual(Array(2).fill('Error: thrown by a handler'));
  });

  test('a reflector leaves no connection, timer or waiter behind when stopped', async () => {
    const { proxy, reflector } = await reflected();
    const timersBefore = timers();
    await reflector.start();
    await until('the watch is open', () => proxy.count(watchLine) === 1);
    await reflector.stop();
    // The socket of the list may stay for reuse; the watch's may not.
    await until('the connection of the watch is closed', () => proxy.openLinks <= 1, 2000);
    expect(timers()).toBeLessThanOrEqual(timersBefore + 1);
    await expect(reflector.start()).rejects.toThrow('started before');
    const requests = proxy.requests.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(proxy.requests).toHaveLength(requests);
  });

  test('a reflector that is stopped before its first list rejects whenSynced', async () => {
    const { proxy, reflector } = await reflected();
    proxy.refuse();
    await reflector.start();
    const synced = expect(reflector.whenSynced()).rejects.toThrow('was stopped');
    await reflector.stop();
    await synced;
  });
});

test('bookmarks advance a quiet watch, so that it continues from there after a reset', async () => {
  const direct = clientFor();
  const [mine, other] = [await newNamespace(direct), await newNamespace(direct)];
  const proxy = await FaultyProxy.start();
  const reflector = new Reflector({
    client: clientFor(adminCredentials(proxy.url)),
    resource: secrets,
    namespace: mine,
    trim: (secret) => secret,
    log: { warn: () => {}, error: () => {} },
    watchTimeoutMs: 5000,
    random: () => 0,
  });
  onTestFinished(() => reflector.stop());
  await reflector.start();
  await reflector.whenSynced();
  const watched = () => proxy.requests.filter((line) => line.includes('watch=true')).map(resourceVersionIn);
  await until('the watch is open', () => watched().length === 1);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const change = await direct.create(secrets, { metadata: { name: 'elsewhere', namespace: other } });
  await until('the server ended the watch and the next is open', () => watched().length === 2);
  expect(watched()[1]).toBeGreaterThanOrEqual(Number(change.metadata?.resourceVersion));
  expect(watched()[1]).toBeGreaterThan(watched()[0] ?? Infinity);
});

function resourceVersionIn(line: string): number {
  return Number(/resourceVersion=(\d+)/.exec(line)?.[1]);
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}
