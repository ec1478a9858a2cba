import { expect, it } from 'vitest';
import { statusesBefore, uploadStatuses } from './upload.ts';

it('each status of an upload is reached from these, and what has ended stays as it is', () => {
  expect(Object.fromEntries(uploadStatuses.map((status) => [status, statusesBefore(status)]))).toEqual({
    open: [],
    completing: ['open'],
    completed: ['completing'],
    aborted: ['open', 'completing'],
    expired: ['open', 'completing'],
  });
});
