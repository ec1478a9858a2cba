import { expect, it } from 'vitest';
import { dueKinds, dueStates } from './due.ts';

// Labels that dashboards and alerts name: none may be lost or renamed.

it('the labels of `svc_due_work` are those that its reference names', () => {
  expect(dueStates).toEqual(['due', 'late']);
  expect(dueKinds.toSorted()).toEqual([
    'bucket_event_retention',
    'cleanup',
    'import',
    'import_removal',
    'import_retention',
    'job_retention',
    'lapsed_lease',
    'media_deletion',
    'media_expiry',
    'missing_ticket',
    'purge_event_retention',
    'revision_retention',
    'rollout',
    'upload_expiry',
    'upload_removal',
    'upload_retention',
    'webhook',
  ]);
});
