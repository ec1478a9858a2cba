import { expect, onTestFinished, test } from 'vitest';
import {
  type LeaderElectorOptions,
  type LeaderTerm,
  LeaderElector,
  NotLeader,
} from '#platform/kubernetes/leader-elector.ts';
import { leases } from '#platform/kubernetes/objects.ts';
import { adminCredentials, clientFor, newNamespace, until } from '../../testing/k8s/cluster.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';

const times = { termMs: 3000, deadlineMs: 2000, renewEveryMs: 400, retryEveryMs: 150 };

/** A contender, with what happened to it in order. */
function contender(namespace: string, identity: string, options: Partial<LeaderElectorOptions> = {}) {
  const reported: string[] = [];
  const problems: string[] = [];
  const terms: LeaderTerm[] = [];
  const elector = new LeaderElector({
    client: clientFor(),
    namespace,
    name: 'leader',
    identity,
    onStarted: (term) => {
      terms.push(term);
      reported.push('started');
    },
    onStopped: () => {
      reported.push('stopped');
    },
    log: { warn: (_, message) => problems.push(message), error: (_, message) => problems.push(message) },
    ...times,
    ...options,
  });
  onTestFinished(() => elector.stop());
  return { elector, reported, problems, terms };
}

test.each([
  { lease: 'a lease that is not there yet', isThere: false },
  { lease: 'a lease that was given back', isThere: true },
])('one of many processes leads when all seek $lease at once', async ({ isThere }) => {
  const client = clientFor();
  const namespace = await newNamespace(client);
  if (isThere) await client.create(leases, { metadata: { namespace, name: 'leader' }, spec: { holderIdentity: '' } });
  const all = Array.from({ length: 8 }, (_, i) => contender(namespace, `c-${i}`));
  await Promise.all(all.map(({ elector }) => elector.start()));
  await until('one leads', () => all.some(({ elector }) => elector.isLeader));
  for (let look = 0; look < 30; look += 1) {
    expect(all.filter(({ elector }) => elector.isLeader)).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(all.flatMap(({ reported }) => reported)).toEqual(['started']);
});

test('a leader that stops gives the lease back once its work has ended, and another process takes it at once', async () => {
  const client = clientFor();
  const namespace = await newNamespace(client);
  let hasEnded = false;
  const first = contender(namespace, 'first', {
    onStopped: async () => {
      // Longer than a deadline: the lease is renewed until the work has stopped.
      await new Promise((resolve) => setTimeout(resolve, times.deadlineMs * 1.3));
      expect(second.elector.isLeader).toBe(false);
      expect(first.terms[0]?.isHeld()).toBe(true);
      hasEnded = true;
    },
  });
  const second = contender(namespace, 'second');
  await first.elector.start();
  await until('the first leads', () => first.elector.isLeader);
  await second.elector.start();
  await first.elector.stop();
  expect(hasEnded).toBe(true);
  expect(first.terms[0]?.signal.aborted).toBe(true);
  expect(first.terms[0]?.isHeld()).toBe(false);
  await until('the second leads', () => second.elector.isLeader, 2000);
  const lease = await client.get(leases, { namespace, name: 'leader' });
  expect(lease.spec).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1, leaseDurationSeconds: 3 });
});

test('a leader that cannot reach the API server stops before another process may begin', async () => {
  const namespace = await newNamespace(clientFor());
  const proxy = await FaultyProxy.start();
  const events: { who: string; what: string; atMs: number }[] = [];
  const note = (who: string, what: string) => void events.push({ who, what, atMs: performance.now() });
  const first = contender(namespace, 'first', {
    client: clientFor(adminCredentials(proxy.url)),
    onStarted: () => note('first', 'started'),
    onStopped: () => note('first', 'stopped'),
  });
  const second = contender(namespace, 'second', { onStarted: () => note('second', 'started') });
  await first.elector.start();
  await until('the first leads', () => first.elector.isLeader);
  await second.elector.start();
  proxy.refuse();
  await until('the second leads', () => second.elector.isLeader);
  expect(events.map(({ who, what }) => `${who} ${what}`)).toEqual(['first started', 'first stopped', 'second started']);
  // It comes back as a standby and leads again when it may.
  proxy.accept();
  await second.elector.stop();
  await until('the first leads again', () => first.elector.isLeader);
});

test('a leader on a silent connection stops within its deadline', async () => {
  const namespace = await newNamespace(clientFor());
  const proxy = await FaultyProxy.start();
  const { elector, reported } = contender(namespace, 'first', { client: clientFor(adminCredentials(proxy.url)) });
  await elector.start();
  await until('it leads', () => elector.isLeader);
  const mutedMs = performance.now();
  proxy.mute({ alsoNew: true });
  await until('it stopped', () => reported.includes('stopped'));
  expect(performance.now() - mutedMs).toBeLessThan(times.deadlineMs + 500);
});

test('a leader whose connection dies renews over another connection', async () => {
  const namespace = await newNamespace(clientFor());
  const proxy = await FaultyProxy.start();
  const { elector, reported } = contender(namespace, 'first', { client: clientFor(adminCredentials(proxy.url)) });
  await elector.start();
  await until('it leads', () => elector.isLeader);
  proxy.mute();
  await new Promise((resolve) => setTimeout(resolve, times.deadlineMs * 1.5));
  expect(elector.isLeader).toBe(true);
  expect(reported).toEqual(['started']);
});

test('a renewal whose answer was lost does not end the term', async () => {
  const namespace = await newNamespace(clientFor());
  const client = clientFor();
  const { elector, reported } = contender(namespace, 'first');
  await elector.start();
  await until('it leads', () => elector.isLeader);
  for (let i = 0; i < 4; i += 1) {
    // The version moves on under the leader, with its own name still in the lease.
    await client.mergePatch(leases, { namespace, name: 'leader' }, { metadata: { annotations: { i: String(i) } } });
    await new Promise((resolve) => setTimeout(resolve, times.renewEveryMs * 1.5));
  }
  expect(elector.isLeader).toBe(true);
  expect(reported).toEqual(['started']);
});

test('a leader whose lease another process holds stops at its next renewal', async () => {
  const namespace = await newNamespace(clientFor());
  const { elector, reported, terms } = contender(namespace, 'first');
  await elector.start();
  await until('it leads', () => elector.isLeader);
  await clientFor().mergePatch(leases, { namespace, name: 'leader' }, { spec: { holderIdentity: 'usurper' } });
  await until('it stopped', () => reported.includes('stopped'), times.deadlineMs);
  expect(terms[0]?.signal.reason).toBeInstanceOf(NotLeader);
  expect(() => terms[0]?.guard()).toThrow(NotLeader);
});

test('a leader that cannot begin its work gives the lease back', async () => {
  const namespace = await newNamespace(clientFor());
  let begun = 0;
  const first = contender(namespace, 'first', {
    onStarted: () => {
      begun += 1;
      throw new Error('cannot begin');
    },
  });
  await first.elector.start();
  await until('it tried twice', () => begun >= 2);
  expect(first.reported[0]).toBe('stopped');
});
