import { z } from 'zod';
import { requestErrors, type RequestErrorCode } from '#domain/errors.ts';
import { type JobType, jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { jobErrorSchema } from '#domain/job-error.ts';
import { callbackStatuses, jobPhaseSchema, jobStatusSchema } from '#domain/jobs/status.ts';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { mediaHashSchema, submissionBodySchema } from '#domain/jobs/submission.ts';

// The shapes of answers, in snake_case. The types of the answers and the OpenAPI document derive from them.

const requestErrorCodes = Object.keys(requestErrors) as [RequestErrorCode, ...RequestErrorCode[]];
const time = z.iso.datetime();
const jobTypeSchema = z.enum(jobTypeNames);
const callbackStatusSchema = z.enum(callbackStatuses);

function ofEachType<Schema>(schemaOf: (type: JobType) => Schema): [Schema, ...Schema[]] {
  return jobTypeNames.map(schemaOf) as [Schema, ...Schema[]];
}

const jobOfType = (type: JobType) =>
  z.object({
    job_id: z.uuid(),
    type: z.literal(type),
    hash: z.string(),
    status: jobStatusSchema,
    phase: jobPhaseSchema.nullable(),
    reason: waitingReasonSchema.nullable(),
    progress: z.int().min(0).max(100),
    /** When its encoding will have ended at its speed so far; null in every other phase. */
    eta: time.nullable(),
    attempt: z.int().min(1),
    /** The encoding profile of its stream; null where it makes none. */
    profile: z.string().nullable(),
    callback_status: callbackStatusSchema.nullable(),
    retry_of_job_id: z.uuid().nullable(),
    error: jobErrorSchema.nullable(),
    results: jobTypes[type].results.nullable(),
    /** Whether retention removed objects that the results name. */
    results_expired: z.boolean(),
    created_at: time,
    updated_at: time,
  });

/** One shape for each job type, told apart by `type`: the results of a job depend on it. */
const jobSchema = z.discriminatedUnion('type', ofEachType(jobOfType));
/** A job of a list, with its results where they are asked for. */
const listedJobSchema = z.discriminatedUnion(
  'type',
  ofEachType((type) => jobOfType(type).partial({ results: true })),
);

const jobCreatedSchema = z.object({ job_id: z.uuid(), hash: z.string(), status: jobStatusSchema });
const jobCompletedSchema = z.discriminatedUnion(
  'type',
  ofEachType((type) =>
    z.object({
      job_id: z.uuid(),
      type: z.literal(type),
      hash: z.string(),
      status: z.literal('completed'),
      profile: z.string().nullable(),
      results: jobTypes[type].results,
    }),
  ),
);

/** The body of a webhook (`webhookBody` writes it). */
const webhookEventSchema = z.discriminatedUnion(
  'type',
  ofEachType((type) =>
    z.object({
      event_id: z.uuid(),
      occurred_at: time,
      job_id: z.uuid(),
      type: z.literal(type),
      hash: z.string(),
      status: z.enum(['completed', 'failed']),
      results: jobTypes[type].results.nullable(),
      error: jobErrorSchema.optional(),
    }),
  ),
);

const retrySchema = z.object({
  source_job_id: z.uuid(),
  strategy: z.literal('retry_tasks'),
  jobs: z.array(
    z.object({ job_id: z.uuid(), type: jobTypeSchema, status: jobStatusSchema, retry_of_job_id: z.uuid().nullable() }),
  ),
});

const jobListSchema = z.object({ jobs: z.array(listedJobSchema), next_cursor: z.string().nullable() });

const callbacksSchema = z.object({
  job_id: z.uuid(),
  callback_url: z.string().nullable(),
  callback_status: callbackStatusSchema.nullable(),
  /** Null until the job has ended, and without a `callback_url`. */
  event_id: z.uuid().nullable(),
  next_attempt_at: time.nullable(),
  attempts: z.array(
    z.object({
      attempt: z.int().min(1),
      started_at: time,
      duration_ms: z.int().min(0),
      status_code: z.int().nullable(),
      error: z.string().nullable(),
    }),
  ),
});

const clearKeySchema = z.object({
  keys: z.array(z.object({ kty: z.literal('oct'), kid: z.string(), k: z.string() })),
  type: z.literal('temporary'),
});

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  code: z.enum(requestErrorCodes),
  trace_id: z.string(),
  errors: z.array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() })).optional(),
});

/** The shapes of answers, by their names in the OpenAPI document. */
export const answerSchemas = {
  Job: jobSchema,
  JobCreated: jobCreatedSchema,
  JobCompleted: jobCompletedSchema,
  ListedJob: listedJobSchema,
  JobList: jobListSchema,
  Retry: retrySchema,
  Callbacks: callbacksSchema,
  ClearKeyLicence: clearKeySchema,
  WebhookEvent: webhookEventSchema,
  Problem: problemSchema,
} as const;
export type AnswerName = keyof typeof answerSchemas;
export type Wire<Name extends AnswerName> = z.output<(typeof answerSchemas)[Name]>;

/** The shapes of request bodies, by their names in the OpenAPI document. */
export const bodySchemas = { CreateJobRequest: submissionBodySchema, NoFields: z.strictObject({}) } as const;

/** The query of `GET /api/jobs`. */
export const jobListQuerySchema = z.strictObject({
  type: jobTypeSchema.optional(),
  status: jobStatusSchema.optional(),
  hash: mediaHashSchema.optional(),
  limit: z.coerce.number<string>().int().min(1).max(100).default(50),
  cursor: z.string().max(256).optional(),
  /** What each job has besides. */
  include: z.literal('results').optional(),
});
