import { expect, it } from 'vitest';
import { dueKinds, dueStates } from '../work/due.ts';
import { noticeSchema } from './notice.ts';
import { poolOfQueue, queueNames } from './routing.ts';
import { activeStatuses, callbackStatuses, jobStatuses, jobStatusSchema } from './status.ts';

// Words that callers, operators, stored rows and queues have: none may be lost or renamed.

it('C12.2: the statuses of a job, of which two are active', () => {
  expect(jobStatuses).toEqual(['queued', 'processing', 'completed', 'failed', 'cancelled']);
  expect(activeStatuses).toEqual(['queued', 'processing']);
  expect(jobStatusSchema.options).toEqual(jobStatuses);
});

it('C11.36, C11.38, C11.45: what a notice may say', () => {
  for (const code of ['other_profile', 'too_many_callbacks', 'callback_too_late'])
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

it('the labels of `svc_due_work`', () => {
  expect(dueStates).toEqual(['due', 'late']);
  const jobs = 'cleanup revision_retention job_retention media_expiry media_deletion';
  const files = 'upload_expiry upload_removal upload_retention import import_removal import_retention';
  const others = 'rollout webhook purge_event_retention bucket_event_retention lapsed_lease missing_ticket';
  expect(dueKinds.join(' ')).toBe([jobs, files, others].join(' '));
});
