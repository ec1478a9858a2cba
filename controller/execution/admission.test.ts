import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { exampleJob } from '../../testing/example-job.ts';
import { idOf, register } from '../../testing/k8s/batch-register.ts';
import { type AdmissionDependencies, admissionComponent } from './admission.ts';

const video: Ticket = { jobId: idOf(900), attempt: 1, queue: 'default', keyId: 'a' };
const image: Ticket = { jobId: idOf(0), attempt: 1, queue: 'default', keyId: 'b' };

const untilStopped = (signal: AbortSignal) => once(signal, 'abort').then(() => null);

/** Admission of a ticket of key a, while it is the turn of key b, whose images wait, in a pool of four slots. */
async function admitVideo(freeSlots: number) {
  const { world, batches, slots } = register(0);
  for (let taken = freeSlots; taken < 4; taken += 1)
    slots.claimed.set(idOf(500 + taken), { pool: 'default', isSuspended: false, priority: 0, isImage: false });
  world.waiting = Array.from({ length: 20 }, (_, n) => idOf(n));
  const claim = vi.fn<AdmissionDependencies['jobs']['claim']>(async ({ jobId }) => exampleJob({ id: jobId }));
  const putBack = vi.fn<() => Promise<void>>(async () => undefined);
  const done = vi.fn<() => Promise<void>>(async () => undefined);
  const order = [image, video].map((ticket) => ({ key: ticket.keyId ?? '', weight: 1, isBackground: false, ticket }));
  const next = vi.fn<(signal: AbortSignal) => Promise<object | null>>(untilStopped);
  next.mockResolvedValueOnce({ ticket: video, done, putBack });
  const component = admissionComponent('default', {
    jobs: { claim, giveBack: async () => null },
    queue: { reader: () => ({ next, close: async () => undefined }) },
    executor: {
      lease: { owner: 'kubernetes', durationMs: Infinity },
      turns: { order: async () => order, holders: { resume: () => false }, claimed: () => undefined },
      poolOf: () => 'default',
      freeSlots: () => slots.freeForTickets('default'),
      whenFree: async () => undefined,
      admits: async (ticket: Ticket) => ticket === video || !(await batches.leaves(ticket)),
      run: async () => undefined,
    },
    storageWatch: { isAway: false, whenAvailable: async () => undefined },
    metrics: { queueWait: { observe: () => undefined }, poolWait: { observe: () => undefined } },
    log: createLogger({ level: 'silent', name: 'test' }),
  } as unknown as AdmissionDependencies);
  await component.start();
  await expect.poll(() => done.mock.calls.length + putBack.mock.calls.length).toBe(1);
  await component.stop(AbortSignal.timeout(1_000));
  const claimed = claim.mock.calls.map(([{ jobId }]) => jobId);
  return { claimed, isPutBack: putBack.mock.calls.length === 1, batches: batches.all().length };
}

it('C36.2: a ticket waits when a batch for the key whose turn it is took the last slot', async () => {
  expect(await admitVideo(1)).toEqual({ claimed: [], isPutBack: true, batches: 1 });
});

it('C36.1: a ticket gets a slot that the key whose turn it is does not want', async () => {
  expect(await admitVideo(2)).toEqual({ claimed: [video.jobId], isPutBack: false, batches: 1 });
});
