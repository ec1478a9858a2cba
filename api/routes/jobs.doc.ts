import type { RouteDoc } from '#platform/http/route-doc.ts';
import { batchAnswerSchema, batchBodySchema } from '../wire/batch.ts';
import {
  callbacksSchema,
  createJobSchema,
  jobCompletedSchema,
  jobCreatedSchema,
  jobEventsQuerySchema,
  jobListQuerySchema,
  jobListSchema,
  jobQuerySchema,
  jobSchema,
  noFieldsSchema,
  rerunBodySchema,
  rerunSchema,
  retrySchema,
} from '../wire/job-schemas.ts';

// Documentation of the job routes in the OpenAPI document.

const idOfJob = { id: 'The job, a UUID.' };

const choiceHeaders = {
  'X-Profile': 'The encoding profile of the stream; by default the one that the rules choose.',
  'X-Pool': 'The RunnerPool that the job runs in; by default the one that the profile names, else by size.',
  'X-Priority': 'A whole number from -1000 to 1000, by default 0: of waiting jobs, higher ones begin first.',
  'X-Title':
    'What people call the media, 1 to 256 characters in percent-encoded UTF-8 (`encodeURIComponent`); it is in the job and in the media, whose last one holds, also of a submission that an equal job answers.',
  'X-Metadata':
    'Up to 20 strings of the job and the media, 4 kB in all, as the query of an address: `customer=42&place=S%C3%A3o+Paulo`.',
};

export const submit: RouteDoc = {
  tag: 'Jobs',
  operationId: 'submitJob',
  right: 'submit',
  subject: 'own',
  summary: 'Submit a job',
  description:
    'Equal requests (`type`, `hash`, `source` and `options` with their defaults) make one job: after a 500 it is safe to send the same request again.',
  credential: 'api_key',
  isLimited: true,
  headers: choiceHeaders,
  body: {
    schema: createJobSchema,
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
    202: { description: 'A new job, queued.', schemas: [jobCreatedSchema] },
    200: {
      description: 'An equal job exists: the job while it is active, its results once it has completed.',
      schemas: [jobSchema, jobCompletedSchema],
    },
  },
  problems: ['source_missing', 'source_too_large'],
};

export const batch: RouteDoc = {
  tag: 'Jobs',
  operationId: 'submitJobs',
  right: 'submit',
  subject: 'own',
  summary: 'Submit up to 500 jobs',
  description:
    'Each submission has an entry of its own in the answer, in order: what `POST /api/jobs` would answer. What is wrong with one leaves the others alone.',
  credential: 'api_key',
  isLimited: true,
  headers: choiceHeaders,
  body: {
    schema: batchBodySchema,
    isRequired: true,
    example: { jobs: [{ type: 'image:thumbnail', hash: 'photo-1', source: 'uploads/photo-1.jpg' }] },
  },
  answers: { 200: { description: 'An entry for each submission.', schemas: [batchAnswerSchema] } },
  problems: [],
};

export const list: RouteDoc = {
  tag: 'Jobs',
  operationId: 'listJobs',
  right: 'read',
  subject: 'own',
  summary: 'List jobs, newest first',
  description:
    'For the next page, repeat the request with `cursor` set to the `next_cursor` of this page. Jobs have their `results` with `include=results` alone. Filters may be combined.',
  credential: 'api_key',
  query: jobListQuerySchema,
  answers: { 200: { description: 'One page.', schemas: [jobListSchema] } },
  problems: ['invalid_request', 'busy'],
};

export const find: RouteDoc = {
  tag: 'Jobs',
  operationId: 'getJob',
  right: 'read',
  subject: 'job',
  summary: 'Get a job',
  description:
    'The answer has an `ETag`; while the job is active, `Retry-After` gives the seconds until the next poll. `check` asks the buckets whether the source was replaced and whether the results are there.',
  credential: 'api_key',
  path: idOfJob,
  query: jobQuerySchema,
  headers: { 'If-None-Match': 'An `ETag` of an earlier answer; 304 while the job is unchanged.' },
  answers: {
    200: { description: 'The job.', schemas: [jobSchema] },
    304: { description: 'The job is unchanged.' },
  },
  problems: ['not_found', 'invalid_request'],
  insteadOf: { DELETE: 'POST /api/jobs/{id}/cancel ends a job; its row stays.' },
};

export const retry: RouteDoc = {
  tag: 'Jobs',
  operationId: 'retryJob',
  right: 'submit',
  subject: 'job',
  summary: 'Retry a failed job',
  description:
    'Makes one new job for each failed retryable stage of a `video:full`; for any other type, one job of the same type. Each has `retry_of_job_id`. An equal job that is active or completed is returned instead of a new one.',
  credential: 'api_key',
  isLimited: true,
  path: idOfJob,
  body: { schema: noFieldsSchema, isRequired: false },
  answers: { 202: { description: 'The new jobs, queued, and equal jobs that existed.', schemas: [retrySchema] } },
  problems: ['not_found', 'not_retryable', 'conflict'],
};

export const rerun: RouteDoc = {
  tag: 'Jobs',
  operationId: 'rerunJob',
  right: 'submit',
  subject: 'job',
  summary: 'Make a job again',
  description:
    "Makes a completed or failed job again, in a revision of its own: after its source was replaced, the profile changed, or objects were lost. It keeps the earlier job's profile and priority unless others are named. Once it has completed it answers equal submissions, and is played unless something was submitted or published after the earlier job. Equal requests at once make one job; one by another profile is refused meanwhile.",
  credential: 'api_key',
  isLimited: true,
  path: idOfJob,
  body: { schema: rerunBodySchema, isRequired: false },
  answers: {
    202: { description: 'The new job, queued.', schemas: [rerunSchema] },
    200: { description: 'An equal rerun is active already.', schemas: [rerunSchema] },
  },
  problems: ['not_found', 'not_retryable', 'conflict'],
};

export const cancel: RouteDoc = {
  tag: 'Jobs',
  operationId: 'cancelJob',
  right: 'submit',
  subject: 'job',
  summary: 'Cancel a queued or running job',
  description: 'The status is final at once; running work stops within seconds. Cancelling again changes nothing.',
  credential: 'api_key',
  path: idOfJob,
  body: { schema: noFieldsSchema, isRequired: false },
  answers: { 200: { description: 'The cancelled job.', schemas: [jobSchema] } },
  problems: ['not_found', 'conflict'],
};

export const events: RouteDoc = {
  tag: 'Jobs',
  operationId: 'followJob',
  right: 'read',
  subject: 'job',
  summary: 'Follow a job',
  description:
    'Server-Sent Events named `job`: the Job as data and its version as id, at once and after each change, until the job has ended. With the id of the final state in `Last-Event-ID` the answer is 204, which makes an `EventSource` stop. `exclude=results` leaves the results out, which may be large. When too many streams are open, the answer is 503.',
  credential: 'api_key',
  path: idOfJob,
  query: jobEventsQuerySchema,
  headers: { 'Last-Event-ID': 'The id of the last event received.' },
  answers: {
    200: { description: 'The events.', contentType: 'text/event-stream' },
    204: { description: 'The job has ended, and the client has its final state.' },
  },
  problems: ['not_found', 'invalid_request', 'busy'],
};

export const callbacks: RouteDoc = {
  tag: 'Callbacks',
  operationId: 'getCallbacks',
  right: 'read',
  subject: 'job',
  summary: 'Get the webhook of a job and its delivery attempts',
  credential: 'api_key',
  path: idOfJob,
  answers: { 200: { description: 'The event and its attempts, oldest first.', schemas: [callbacksSchema] } },
  problems: ['not_found', 'invalid_request'],
};

export const redeliver: RouteDoc = {
  tag: 'Callbacks',
  operationId: 'redeliverCallback',
  right: 'submit',
  subject: 'job',
  summary: 'Deliver the webhook of a job again',
  description:
    'Sends the same event with the same bytes, with a new series of attempts; `callback_status` becomes `pending`.',
  credential: 'api_key',
  path: idOfJob,
  body: { schema: noFieldsSchema, isRequired: false },
  answers: { 202: { description: 'The event is scheduled for delivery.', schemas: [callbacksSchema] } },
  problems: ['not_found', 'conflict'],
};
