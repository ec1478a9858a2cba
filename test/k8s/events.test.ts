import { expect, onTestFinished, test } from 'vitest';
import { EventRecorder, type EventRecorderOptions, type EventInput } from '#platform/kubernetes/events.ts';
import { events } from '#platform/kubernetes/objects.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { adminCredentials, clientFor, newNamespace, server, until } from '../../testing/k8s/cluster.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { configMaps } from '../../testing/k8s/kinds.ts';

async function recorded(options: Partial<EventRecorderOptions> = {}) {
  const direct = clientFor();
  const namespace = await newNamespace(direct);
  const object = await direct.create(configMaps, { metadata: { name: 'thing', namespace } });
  const recorder = new EventRecorder({
    client: direct,
    instance: 'controller-0',
    log: { warn: () => {}, error: () => {} },
    countEveryMs: 200,
    ...options,
  });
  onTestFinished(() => recorder.stop(AbortSignal.timeout(1000)));
  const event: EventInput = {
    regarding: object,
    type: 'Warning',
    reason: 'Unschedulable',
    action: 'Scheduling',
    note: '0/2 nodes are available',
  };
  const written = async () => (await direct.list(events, { namespace })).items;
  return { recorder, event, written, namespace, direct };
}

test('an event is written at once and shown by kubectl', async () => {
  const { recorder, event, written, namespace } = await recorded();
  recorder.record(event);
  await until('it is written', async () => (await written()).length === 1);
  const [found] = await written();
  expect(found).toMatchObject({
    reason: 'Unschedulable',
    note: '0/2 nodes are available',
    reportingController: 'reelwright-controller',
    regarding: { kind: 'ConfigMap', name: 'thing', uid: event.regarding.metadata?.uid },
  });
  expect(found).not.toHaveProperty('series');
  const shown = await kubectl(server, ['events', '-n', namespace]);
  expect(shown).toMatch(/Warning\s+Unschedulable\s+ConfigMap\/thing\s+0\/2 nodes are available/);
});

test('a repeated event is counted in one series, with few writes', async () => {
  const proxy = await FaultyProxy.start();
  const { recorder, event, written } = await recorded({ client: clientFor(adminCredentials(proxy.url)) });
  for (let i = 0; i < 50; i += 1) recorder.record({ ...event, note: `note ${i}` });
  await until('the count is written', async () => (await written())[0]?.series?.count === 50);
  for (let i = 0; i < 50; i += 1) recorder.record(event);
  await recorder.stop(AbortSignal.timeout(5000));
  expect((await written()).map(({ series }) => series?.count)).toEqual([100]);
  expect(proxy.requests.length).toBeLessThanOrEqual(3);
  expect(recorder.dropped).toBe(0);
});

test('writes are limited by a rate, and dropped events are counted', async () => {
  const { recorder, event, written } = await recorded({ rate: { perSecond: 0.001, burst: 5 } });
  for (let i = 0; i < 20; i += 1) recorder.record({ ...event, reason: `Reason${i}` });
  await recorder.stop(AbortSignal.timeout(5000));
  expect(await written()).toHaveLength(5);
  expect(recorder.dropped).toBe(15);
});

test('an event is retried after a transient error and dropped after a permanent one', async () => {
  const proxy = await FaultyProxy.start();
  const { recorder, event, written } = await recorded({ client: clientFor(adminCredentials(proxy.url)) });
  proxy.answer(/^POST/, 429, { headers: { 'retry-after': '1' } });
  recorder.record(event);
  await until('it is written', async () => (await written()).length === 1);
  proxy.answer(/^POST/, 403);
  recorder.record({ ...event, reason: 'Other' });
  await until('it is dropped', () => recorder.dropped === 1);
  expect(await written()).toHaveLength(1);
});

test('a series whose event the API server has deleted is created again with its count', async () => {
  const { recorder, event, written, namespace, direct } = await recorded();
  recorder.record(event);
  await until('it is written', async () => (await written()).length === 1);
  const [first] = await written();
  await direct.delete(events, { namespace, name: first?.metadata?.name ?? '' });
  recorder.record(event);
  await until('it is written again', async () => (await written())[0]?.series?.count === 2);
});

test('a note longer than a kilobyte is truncated between characters', async () => {
  const { recorder, event, written } = await recorded();
  recorder.record({ ...event, note: 'ü'.repeat(2000) });
  await until('it is written', async () => (await written()).length === 1);
  expect((await written())[0]?.note).toMatch(/^ü{510}…$/);
});
