import type { RouteDoc } from '#platform/http/route-doc.ts';

// What the OpenAPI document says of the job routes.

const idOfJob = { id: 'The job, a UUID.' };

export const submit: RouteDoc = {
  tag: 'Jobs',
  summary: 'Submit a job',
  description:
    'Equal requests (`type`, `hash`, `source` and `options` with their defaults) make one job, whatever else happens: after a 500 the same request is safe.',
  credential: 'api_key',
  isLimited: true,
  body: {
    name: 'CreateJobRequest',
    isRequired: true,
    example: {
      type: 'video:full',
      hash: 'movie-1',
      source: 'uploads/movie-1.mp4',
      options: { transcode: { encrypt: true } },
      callback_url: 'https://example.com/hooks/media',
    },
  },
  answers: {
    202: { description: 'A new job, queued.', schemas: ['JobCreated'] },
    200: {
      description: 'An equal request is there: the job while it is active, its results once it has completed.',
      schemas: ['Job', 'JobCompleted'],
    },
  },
  problems: [
    'invalid_json',
    'invalid_request',
    'source_missing',
    'body_too_large',
    'source_too_large',
    'unsupported_media_type',
  ],
};

export const list: RouteDoc = {
  tag: 'Jobs',
  summary: 'List jobs, the newest first',
  description: 'A page is followed by `?cursor=` with the `next_cursor` of the page before, and the same filters.',
  credential: 'api_key',
  query: 'jobList',
  answers: { 200: { description: 'One page.', schemas: ['JobList'] } },
  problems: ['invalid_request'],
};

export const find: RouteDoc = {
  tag: 'Jobs',
  summary: 'Look at a job',
  description: 'Carries an `ETag`; while the job is active, `Retry-After` says when to ask again.',
  credential: 'api_key',
  path: idOfJob,
  headers: { 'If-None-Match': 'An `ETag`; 304 while it is still that of the job.' },
  answers: {
    200: { description: 'The job.', schemas: ['Job'] },
    304: { description: 'Nothing has changed.' },
  },
  problems: ['not_found', 'invalid_request'],
};

export const retry: RouteDoc = {
  tag: 'Jobs',
  summary: 'Retry a failed job',
  description:
    'Makes one new job for each failed retryable stage of a `video:full`, and one like it of any other type. Each carries `retry_of_job_id`. An equal job that is alive or completed is named instead of a new one.',
  credential: 'api_key',
  isLimited: true,
  path: idOfJob,
  body: { name: 'NoFields', isRequired: false },
  answers: { 202: { description: 'The new jobs, queued, and equal ones that were there.', schemas: ['Retry'] } },
  problems: ['invalid_json', 'invalid_request', 'not_found', 'not_retryable', 'conflict', 'unsupported_media_type'],
};

export const cancel: RouteDoc = {
  tag: 'Jobs',
  summary: 'Cancel a job that waits or runs',
  description: 'Final at once; what runs is stopped within seconds. Cancelling again changes nothing.',
  credential: 'api_key',
  path: idOfJob,
  body: { name: 'NoFields', isRequired: false },
  answers: { 200: { description: 'The cancelled job.', schemas: ['Job'] } },
  problems: ['invalid_json', 'invalid_request', 'not_found', 'conflict', 'unsupported_media_type'],
};

export const events: RouteDoc = {
  tag: 'Jobs',
  summary: 'Follow a job',
  description:
    'Server-Sent Events: `event: job`, whose data is the Job and whose id is its version, at once and after each change, until the job is over. With the id of the final state in `Last-Event-ID` the answer is 204, which tells an `EventSource` to stop.',
  credential: 'api_key',
  path: idOfJob,
  headers: { 'Last-Event-ID': 'The id of the last event that was received.' },
  answers: {
    200: { description: 'The events.', contentType: 'text/event-stream' },
    204: { description: 'The job is over, and its end has been told.' },
  },
  problems: ['not_found', 'invalid_request'],
};

export const callbacks: RouteDoc = {
  tag: 'Callbacks',
  summary: 'Look at the webhook of a job and its attempts',
  credential: 'api_key',
  path: idOfJob,
  answers: { 200: { description: 'The event and its attempts, the oldest first.', schemas: ['Callbacks'] } },
  problems: ['not_found', 'invalid_request'],
};

export const redeliver: RouteDoc = {
  tag: 'Callbacks',
  summary: 'Deliver the webhook of a job again',
  description: 'The same event with the same bytes, and all attempts before it; `callback_status` becomes `pending`.',
  credential: 'api_key',
  path: idOfJob,
  body: { name: 'NoFields', isRequired: false },
  answers: { 202: { description: 'The delivery has begun.', schemas: ['Callbacks'] } },
  problems: ['invalid_json', 'invalid_request', 'not_found', 'conflict', 'unsupported_media_type'],
};
