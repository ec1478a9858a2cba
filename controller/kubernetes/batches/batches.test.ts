import { expect, it, vi } from 'vitest';
import { exampleJob } from '../../../testing/example-job.ts';
import { idOf, minuteMs, register } from '../../../testing/k8s/batch-register.ts';
import { batchMs } from '../manifests/batch-manifest.ts';
import { BatchReconciler } from './reconcile-batch.ts';
import { BatchTaskServer } from './task-server.ts';
import { watchBatches } from './watch-batches.ts';

const ticketOf = (jobId: string, more: object = {}) => ({ jobId, attempt: 1, queue: 'default', ...more }) as const;

it.each<[waiting: number, atWork: number, batches: number]>([
  [2, 0, 0],
  [2, 1, 1],
  [3, 0, 1],
  [25, 0, 1],
  [26, 0, 2],
  [500, 0, 4],
])('%i waiting image jobs and %i at work make %i batches, of which each has a slot', async (waiting, atWork, made) => {
  const { world, batches, slots } = register(waiting);
  world.atWork = atWork;
  expect(await batches.leaves(ticketOf(idOf(0)))).toBe(made > 0);
  expect(batches.all()).toHaveLength(made);
  expect(slots.claimed.countImages('default')).toBe(made);
});

it('a ticket of another attempt, queue or priority, and one whose job does not wait, is left to no batch', async () => {
  const { batches } = register(10);
  for (const more of [{ attempt: 2 }, { queue: 'video:large' }, { priority: 1 }])
    expect(await batches.leaves(ticketOf(idOf(0), more) as never)).toBe(false);
  expect(await batches.leaves(ticketOf(idOf(50)))).toBe(false);
  expect(batches.all()).toEqual([]);
});

it('after a batch that could not start, image jobs run by themselves for ten minutes, by their tickets', async () => {
  const { world, batches, queue } = register(5);
  await batches.pause();
  expect(queue.add.mock.calls).toEqual(world.waiting.map((id) => [ticketOf(id)]));
  expect(await batches.leaves(ticketOf(idOf(0)))).toBe(false);
  expect(batches.mayTake(exampleJob({ type: 'image:thumbnail' }))).toBe(false);
  await batches.addForLeft();
  expect(batches.all()).toEqual([]);
  world.nowMs += 10 * minuteMs;
  expect(await batches.leaves(ticketOf(idOf(0)))).toBe(true);
});

/** A batch of five waiting jobs, and its runner. */
async function begun(waiting = 5) {
  const all = register(waiting);
  await all.batches.leaves(ticketOf(idOf(0)));
  const [batch] = all.batches.all();
  if (batch === undefined) throw new Error('there is a batch');
  const server = new BatchTaskServer(all.ports, all.batches);
  const ask = async (ended: object | null = null, isLast = false) => {
    const answer = await server.answer(batch.id, { ended, is_last: isLast } as never);
    return typeof answer === 'string' ? answer : answer.task.job_id;
  };
  const end = async (jobId: string, exitCode = 0) => {
    all.world.owners.delete(jobId);
    return ask({ job_id: jobId, attempt: 1, exit_code: exitCode, error: null });
  };
  return { ...all, batch, ask, end };
}

it('a runner is handed a task again whose answer was lost, and the next one once it has ended', async () => {
  const { ask, end, batch } = await begun();
  expect([await ask(), await ask()]).toEqual([idOf(0), idOf(0)]);
  expect([await end(idOf(0)), batch.tasks]).toEqual([idOf(1), 2]);
  expect(batch.current).toMatchObject({ jobId: idOf(1), attempt: 1 });
});

it('a batch is handed no more than its share, and none after five minutes', async () => {
  const { ask, end } = await begun();
  const answers = [await ask(), await end(idOf(0)), await end(idOf(1)), await end(idOf(2))];
  expect(answers).toEqual([idOf(0), idOf(1), idOf(2), 'end']);
  const late = await begun();
  expect(await late.ask()).toBe(idOf(0));
  late.world.nowMs += batchMs + 1;
  expect(await late.end(idOf(0))).toBe('end');
});

it('a runner waits while the storage is away or nothing waits, and ends with a last request or an ended batch', async () => {
  const { world, ask, batches, batch } = await begun(3);
  world.isStorageAway = true;
  expect(await ask()).toBe('wait');
  world.isStorageAway = false;
  expect(await ask(null, true)).toBe('end');
  expect(batch.isClosing).toBe(true);
  batches.remove(batch.id);
  expect(await ask()).toBe('end');
  const idle = await begun(3);
  idle.world.waiting = [];
  expect([await idle.ask(), idle.batch.isClosing]).toEqual(['wait', false]);
});

it('a batch ends early where a job that goes first wants its slot, or the pool has shrunk', async () => {
  const { ask, end, slots } = await begun();
  const claim = { pool: 'default', isSuspended: false, priority: 0, isImage: false };
  for (let n = 0; n < 3; n += 1) slots.claimed.set(`video-${n}`, claim);
  expect(await ask()).toBe(idOf(0));
  slots.claimed.set('video-3', claim);
  expect(await end(idOf(0))).toBe('end');
});

it('an image job with a MediaJob of its own is taken by no batch, and an empty queue is read ten times a second', async () => {
  const { world, batches } = register(3);
  world.withMediaJob.add(idOf(0));
  expect(await batches.waiting.claimNext('kubernetes:b')).toMatchObject({ id: idOf(1) });
  // Applied after its id was read.
  world.withMediaJob.add(idOf(2));
  expect(await batches.waiting.claimNext('kubernetes:b')).toBeNull();
  world.waiting = [];
  expect(await batches.waiting.claimNext('kubernetes:b')).toBeNull();
  const { reads } = world;
  world.waiting = [idOf(7)];
  world.nowMs += 50;
  expect([await batches.waiting.claimNext('kubernetes:b'), world.reads]).toEqual([null, reads]);
  world.nowMs += 50;
  expect(await batches.waiting.claimNext('kubernetes:b')).toMatchObject({ id: idOf(7) });
});

const batchJob = {
  metadata: { name: 'batch-x', namespace: 'r', uid: 'u' },
  isSuspended: false,
  conditions: [],
  hasPod: true,
};

it.each<[string, ageMs: number, isCancelled: boolean, isStopped: boolean]>([
  ['was cancelled a moment ago', 2_000, true, false],
  ['was cancelled', 2_001, true, true],
  ['is at work', 59_999, false, false],
  ['is past the deadline of its pool', 60_000, false, true],
])('the pod of a batch whose job %s is looked after', async (_, ageMs, isCancelled, isStopped) => {
  const { world, ports, batches, batch, ask, deleted, jobs } = await begun();
  await ask();
  world.batchJob = batchJob;
  world.nowMs += ageMs;
  if (isCancelled) world.owners.clear();
  const stopping = new AbortController();
  const looked = vi.spyOn(batches, 'addForLeft').mockImplementation(async () => stopping.abort());
  await watchBatches(ports, batches, stopping.signal);
  expect(looked).toHaveBeenCalledTimes(1);
  expect([deleted.mock.calls.length, batch.isClosing]).toEqual([Number(isStopped), isStopped]);
  expect(jobs.find.mock.calls).toEqual(isStopped && !isCancelled ? [[idOf(0)]] : []);
});

it('a batch whose runner never asks is given up at the pending deadline, and no batch follows for some time', async () => {
  const { world, ports, batches, batch, deleted, slots } = await begun();
  const reconciler = new BatchReconciler(ports, batches);
  world.batchJob = batchJob;
  slots.running.beginCreation(`batch-${batch.id}`, { jobId: batch.id, pool: 'default' });
  world.nowMs += 2 * minuteMs;
  await reconciler.reconcile(batch.id);
  expect(batches.isEnabled).toBe(true);
  world.nowMs += 1;
  await reconciler.reconcile(batch.id);
  expect([batches.all(), batches.isEnabled, deleted.mock.calls.length]).toEqual([[], false, 1]);
  expect([slots.claimed.has(batch.id), slots.running.count('default')]).toEqual([false, 0]);
});

it('C36.5: the images of two keys get a runner in turns, however many one of them has', async () => {
  const { world, ask, end } = await begun(20);
  for (const [n, id] of world.waiting.entries()) world.keys.set(id, n < 18 ? 'a' : 'b');
  const first = await ask();
  world.nowMs += 1_000;
  const second = await end(first);
  expect([world.keys.get(first), world.keys.get(second)]).toEqual(['a', 'b']);
});

it('C36.2: a batch ends, and none follows, while it is the turn of a key without images', async () => {
  const { world, batches, ask, end, slots } = await begun(20);
  for (const id of ['one', 'two', 'three'])
    slots.claimed.set(id, { pool: 'default', isSuspended: false, priority: 0, isImage: false });
  for (const id of world.waiting) world.keys.set(id, 'a');
  const first = await ask();
  world.nowMs += 1_000;
  world.others = ['b'];
  const second = await end(first);
  world.nowMs += 1_000;
  expect(await end(second)).toBe('end');
  batches.remove(batches.all()[0]?.id ?? '');
  await batches.addForLeft();
  expect(batches.all(), 'the slot is left to b').toEqual([]);
  world.others = [];
  world.nowMs += 1_000;
  await batches.addForLeft();
  expect(batches.all()).toHaveLength(1);
});
