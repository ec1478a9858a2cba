import { z } from 'zod';
import { jobErrorCodes } from '#domain/errors.ts';
import { jobErrorSchema } from '#domain/job-error.ts';
import { type JobType, jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { noticeSchema } from '#domain/jobs/notice.ts';
import { priorityMax } from '#domain/jobs/ticket.ts';
import { callbackStatuses, jobPhaseSchema, jobStatusSchema } from '#domain/jobs/status.ts';
import { mediaHashSchema, submissionBodySchema } from '#domain/jobs/submission.ts';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import {
  count,
  etagField,
  hashField,
  jobIdField,
  jobStatusField,
  jobTypeField,
  keyIdField,
  lineOfText,
  metadataField,
  nextCursorField,
  pageQuery,
  profileField,
  time,
  titleField,
} from './fields.ts';
import { jobUsageSchema } from './usage.ts';

// The shapes of jobs on the wire.

const description = {
  profile: 'The encoding profile of its stream; null where it makes none.',
  resultsMissing: 'Whether the objects of the results are lost; absent where it is not known.',
  notice: 'What the answer to an equal submission says besides; absent otherwise.',
};

function ofEachType<Schema>(schemaOf: (type: JobType) => Schema): [Schema, ...Schema[]] {
  return jobTypeNames.map(schemaOf) as [Schema, ...Schema[]];
}

const jobOfType = (type: JobType) =>
  z.object({
    job_id: jobIdField,
    type: z.literal(type).describe('The job type; it decides what `results` has.'),
    hash: hashField,
    status: jobStatusField,
    phase: jobPhaseSchema.nullable().describe('What an active job is doing; null for one that waits or has ended.'),
    reason: waitingReasonSchema.nullable().describe('Why an active job waits; null for one that does not.'),
    progress: z
      .int()
      .min(0)
      .max(100)
      .describe('Percent; it never falls within an attempt. Only `status` says whether a job is done.'),
    eta: time.nullable().describe('When its encoding will have ended at its speed so far; null in every other phase.'),
    attempt: z.int().min(1).describe('The attempt that runs, or the last one.'),
    profile: profileField.nullable().describe(description.profile),
    callback_status: z
      .enum(callbackStatuses)
      .nullable()
      .describe('How the webhook stands; null without a `callback_url`, before the end, and for a cancelled job.'),
    retry_of_job_id: jobIdField.nullable().describe('The failed job that it retries.'),
    rerun_of_job_id: jobIdField.nullable().describe('The job that it makes again.'),
    source_etag: etagField
      .nullable()
      .describe('The ETag of the source that it was made of; null for types that do not measure it.'),
    error: jobErrorSchema.nullable().describe('Why it failed or was cancelled; null otherwise.'),
    results: jobTypes[type].results
      .nullable()
      .describe('What it made; null until it has completed, and for a failed job of which nothing is ready.'),
    results_expired: z.boolean().describe('Whether retention removed objects that the results name.'),
    pool: z
      .string()
      .describe('The RunnerPool that runs it.')
      .meta({ examples: ['default'] }),
    key_id: keyIdField.describe('The API key that asked for it; null: none did.'),
    title: titleField.describe('The title that it was submitted with; null: none.'),
    metadata: metadataField.describe('The strings that it was submitted with.'),
    created_at: time.describe('When it was accepted.'),
    started_at: time.nullable().describe('When its first attempt was claimed.'),
    finished_at: time.nullable().describe('When it ended.'),
    updated_at: time.describe('When it last changed.'),
    usage: jobUsageSchema
      .optional()
      .describe('In `GET /api/jobs/{id}`: what its attempts took that have ended; absent elsewhere.'),
    source_changed: z
      .boolean()
      .nullable()
      .optional()
      .describe(
        'With `check=source`: whether the source is another one now; null when it is deleted, or was not measured.',
      ),
    results_missing: z
      .boolean()
      .optional()
      .describe('With `check=results`: whether the objects of the results are lost.'),
    notice: noticeSchema.optional().describe(description.notice),
  });

/** One shape for each job type, told apart by `type`: the results of a job depend on it. */
export const jobSchema = z.discriminatedUnion('type', ofEachType(jobOfType)).register(answers, { id: 'Job' });

export const jobCreatedSchema = z
  .object({ job_id: jobIdField, hash: hashField, status: jobStatusField })
  .register(answers, { id: 'JobCreated' });

export const jobCompletedSchema = z
  .discriminatedUnion(
    'type',
    ofEachType((type) =>
      z.object({
        job_id: jobIdField,
        type: z.literal(type).describe('The job type; it decides what `results` has.'),
        hash: hashField,
        status: z.literal('completed').describe('The job has completed.'),
        profile: profileField.nullable().describe(description.profile),
        results: jobTypes[type].results.describe('What it made.'),
        results_missing: z.boolean().optional().describe(description.resultsMissing),
        notice: noticeSchema.optional().describe(description.notice),
      }),
    ),
  )
  .register(answers, { id: 'JobCompleted' });

/** A job of a list, with its results where they are asked for. */
export const listedJobSchema = z
  .discriminatedUnion(
    'type',
    ofEachType((type) => jobOfType(type).partial({ results: true })),
  )
  .register(answers, { id: 'ListedJob' });

export const jobListSchema = z
  .object({ jobs: z.array(listedJobSchema).describe('The jobs, the newest first.'), next_cursor: nextCursorField })
  .register(answers, { id: 'JobList' });

/** The body of a webhook (`webhookBody` writes it). */
export const webhookEventSchema = z
  .discriminatedUnion(
    'type',
    ofEachType((type) =>
      z.object({
        event_id: z.uuid().describe('The event; it is the same in each attempt to deliver it.'),
        occurred_at: time.describe('When the job ended.'),
        job_id: jobIdField,
        type: z.literal(type).describe('The job type; it decides what `results` has.'),
        hash: hashField,
        status: z.enum(['completed', 'failed']).describe('How the job ended; a failed one has `error`.'),
        results: jobTypes[type].results.nullable().describe('What it made; of a failed job null, or what is ready.'),
        error: jobErrorSchema.optional().describe('Why it failed; absent for a completed job.'),
      }),
    ),
  )
  .register(answers, { id: 'WebhookEvent' });

const retriedJobSchema = z.object({
  job_id: jobIdField,
  type: jobTypeField,
  status: jobStatusField,
  retry_of_job_id: jobIdField.nullable().describe('The failed job.'),
});
export const retrySchema = z
  .object({
    source_job_id: jobIdField.describe('The failed job.'),
    strategy: z.literal('retry_tasks').describe('Only what failed is made again.'),
    jobs: z.array(retriedJobSchema).describe('The new jobs, and equal ones that existed.'),
  })
  .register(answers, { id: 'Retry' });

export const rerunSchema = z
  .object({
    job_id: jobIdField.describe('The new job, or an equal rerun that is active.'),
    type: jobTypeField,
    status: jobStatusField,
    rerun_of_job_id: jobIdField.nullable().describe('The job that is made again.'),
  })
  .register(answers, { id: 'Rerun' });

const callbackAttemptSchema = z.object({
  attempt: z.int().min(1).describe('Its number, from 1.'),
  started_at: time.describe('When it began.'),
  duration_ms: count.describe('How long it took, in milliseconds.').meta({ examples: [84] }),
  status_code: z
    .int()
    .nullable()
    .describe('The status of the answer; null without one.')
    .meta({ examples: [204] }),
  error: z
    .string()
    .nullable()
    .describe('What kept it from being delivered; null for an answer.')
    .meta({ examples: [null] }),
});
export const callbacksSchema = z
  .object({
    job_id: jobIdField,
    callback_url: z
      .string()
      .nullable()
      .describe('Where the event goes; null for a job without a webhook.')
      .meta({ examples: ['https://example.com/hooks/media'] }),
    callback_status: z.enum(callbackStatuses).nullable().describe('How the webhook stands; null before the end.'),
    key_id: keyIdField.describe('The API key that asked for the job; null: none did.'),
    event_id: z.uuid().nullable().describe('The event; null until the job has ended, and without a `callback_url`.'),
    next_attempt_at: time.nullable().describe('When it is tried next; null when it is not.'),
    body: z.string().nullable().describe('What each attempt sends, byte for byte; null without an event.'),
    attempts: z.array(callbackAttemptSchema).describe('The attempts so far, the oldest first.'),
  })
  .register(answers, { id: 'Callbacks' });

/** The query of `GET /api/jobs/{id}`. */
export const jobQuerySchema = z.object({
  check: z.enum(['source', 'results', 'source,results']).optional().describe('What is asked of the buckets.'),
});

/** The query of `GET /api/jobs/{id}/events`. */
export const jobEventsQuerySchema = z.object({
  exclude: z.literal('results').optional().describe('What each event leaves out.'),
});

const moment = z.iso.datetime({ offset: true });

/** The query of `GET /api/jobs`. */
export const jobListQuerySchema = z.strictObject({
  type: jobTypeField.optional().describe('Only jobs of this type.'),
  status: jobStatusSchema.optional().describe('Only jobs of this status.'),
  hash: mediaHashSchema.optional().describe('Only jobs of this media.'),
  prefix: mediaHashSchema.optional().describe('Only jobs of media whose hash begins with it.'),
  code: z.enum(jobErrorCodes).optional().describe('Only jobs that ended with this error.'),
  created_after: moment.optional().describe('Only jobs from after this time.'),
  created_before: moment.optional().describe('Only jobs from before this time.'),
  ...pageQuery,
  include: z.literal('results').optional().describe('What each job has besides.'),
});

export const rerunBodySchema = z
  .strictObject({
    reason: lineOfText(200)
      .optional()
      .describe('Why, for people; it is stored with the new job.')
      .meta({ examples: ['the source was replaced'] }),
    profile: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe("The profile of the new job; by default the earlier job's.")
      .meta({ examples: ['default'] }),
    priority: z
      .int()
      .min(-priorityMax)
      .max(priorityMax)
      .optional()
      .describe("The priority of the new job; by default the earlier job's.")
      .meta({ examples: [0] }),
  })
  .register(bodies, { id: 'RerunRequest' });

/** The body of a request that takes no fields. */
export const noFieldsSchema = z.strictObject({}).register(bodies, { id: 'NoFields' });

/** The body of `POST /api/jobs`. */
export const createJobSchema = submissionBodySchema.register(bodies, { id: 'CreateJobRequest' });
