import { expect, it } from 'vitest';
import { ClientQueues } from './client-queues.ts';

/** Work that ends when the test says so, and how much of it has begun. */
function pendingWork() {
  const ends: PromiseWithResolvers<void>[] = [];
  return {
    ends,
    work: () => {
      const end = Promise.withResolvers<void>();
      ends.push(end);
      return end.promise;
    },
  };
}

it('the work of one client waits behind its own, in order, and delays no other client', async () => {
  const queues = new ClientQueues(2, 60_000);
  const [greedy, other] = [pendingWork(), pendingWork()];
  const order: number[] = [];
  const all = [0, 1, 2, 3].map((n) => queues.run('greedy', () => (order.push(n), greedy.work())));
  void queues.run('other', other.work);
  expect([greedy.ends.length, other.ends.length]).toEqual([2, 1]);
  greedy.ends[1]?.resolve();
  await all[1];
  expect(order).toEqual([0, 1, 2]);
});

it('work that fails leaves its place, and a client without work is forgotten', async () => {
  const queues = new ClientQueues(1, 60_000);
  await expect(queues.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(queues.run('a', () => Promise.resolve(1))).resolves.toBe(1);
  expect(queues.clientCount).toBe(0);
});

it('work that waits behind work which does not end is refused in time, and never begins', async () => {
  const queues = new ClientQueues(1, 20);
  const { ends, work } = pendingWork();
  const first = queues.run('a', work);
  await expect(queues.run('a', work)).rejects.toMatchObject({ code: 'busy' });
  ends[0]?.resolve();
  await first;
  expect(ends).toHaveLength(1);
  expect(queues.clientCount).toBe(0);
});
