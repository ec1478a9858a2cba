import { expect, it } from 'vitest';
import { noticeSchema } from './notice.ts';
import { overdueTasks } from './overdue.ts';
import { poolOfQueue, queueNames } from './routing.ts';
import {
  activeStatuses,
  callbackStatuses,
  jobPhases,
  jobPhaseSchema,
  jobStatuses,
  jobStatusSchema,
  waitingPhases,
} from './status.ts';
import { ticketId } from './ticket.ts';
import { waitingReasonSchema } from './waiting.ts';

// Words that callers, operators, stored rows and queues have: none may be lost or renamed.

it('C12.2: the statuses of a job, of which two are active', () => {
  expect(jobStatuses).toEqual(['queued', 'processing', 'completed', 'failed', 'cancelled']);
  expect(activeStatuses).toEqual(['queued', 'processing']);
  expect(jobStatusSchema.options).toEqual(jobStatuses);
});

it('C12.4: the phases of a job, in the order of its work; three are before it', () => {
  const waiting = ['admitted', 'suspended', 'scheduling'];
  expect(jobPhases).toEqual([...waiting, 'probing', 'encoding', 'packaging', 'publishing']);
  expect(waitingPhases).toEqual(waiting);
  expect(jobPhaseSchema.options).toEqual(jobPhases);
});

it('C12.6: the reasons for which a job waits', () => {
  const codes = 'next_in_queue behind_others pool_full next_attempt_later storage_outage media_deletion suspended';
  const ofCluster = 'unschedulable quota_exceeded image_unavailable node_lost cannot_start';
  expect(waitingReasonSchema.shape.code.options).toEqual(`${codes} ${ofCluster}`.split(' '));
  const reason = { code: 'node_lost', message: 'The node does not answer.' };
  expect(waitingReasonSchema.parse(reason)).toEqual(reason);
});

it('C11.36, C11.38: what a notice may say', () => {
  for (const code of ['other_profile', 'too_many_callbacks'])
    expect(noticeSchema.parse({ code, detail: 'x' })).toEqual({ code, detail: 'x' });
  expect(noticeSchema.safeParse({ code: 'other', detail: 'x' }).success).toBe(false);
  expect(noticeSchema.safeParse({ code: 'other_profile' }).success).toBe(false);
});

it('C21.24: what `callback_status` may be', () => {
  expect(callbackStatuses).toEqual(['pending', 'sent', 'callback_failed']);
});

it('C10.14: the queues, and the pool of each, whose name Kubernetes accepts', () => {
  expect(queueNames).toEqual(['default', 'video:large']);
  expect(queueNames.map((name) => poolOfQueue[name])).toEqual(['default', 'video-large']);
});

it('the labels of `svc_overdue_seconds` are those that alerts name', () => {
  expect(overdueTasks).toEqual(['cleanup', 'job_retention', 'revision_retention', 'webhooks']);
});

it('each attempt of a job has a ticket of its own', () => {
  expect(ticketId({ jobId: 'j', attempt: 2 })).toBe('j:2');
});
