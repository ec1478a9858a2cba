import { z } from 'zod';
import { jobErrorCodes, requestErrors, type RequestErrorCode } from '#domain/errors.ts';
import { type JobType, jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { jobErrorSchema } from '#domain/job-error.ts';
import { importErrorCodes, importStatuses } from '#domain/imports/import.ts';
import { attemptsKept, endResults } from '#domain/jobs/attempts.ts';
import { noticeSchema } from '#domain/jobs/notice.ts';
import { queueNames } from '#domain/jobs/routing.ts';
import { callbackStatuses, jobPhaseSchema, jobStatusSchema } from '#domain/jobs/status.ts';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { partsMax } from '#domain/uploads/part-plan.ts';
import { uploadReasons, uploadStatuses } from '#domain/uploads/upload.ts';
import { callerUrlSchema, mediaHashSchema, submissionBodySchema } from '#domain/jobs/submission.ts';
import { deletionReasons } from '#domain/library/deletion.ts';
import { playbackModes } from '#domain/media/playback.ts';
import { currentRevisionSchema, mediaChangeSchema, mediaStatuses } from '#domain/library/media.ts';
import { itemCountsSchema } from '#domain/rollouts/counts.ts';
import { videoRanges } from '#domain/media/ladder.ts';
import { profileOrigins, videoCodecs } from '#domain/media/profiles.ts';
import { rolloutRequestSchema, rolloutStatuses } from '#domain/rollouts/rollout.ts';
import { thumbRequestSchema } from '#domain/playback/thumb.ts';
import { unitRunSchema, unitsListedMax } from '#domain/work/unit-run.ts';

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
    /** The job that it makes again. */
    rerun_of_job_id: z.uuid().nullable(),
    /** Of the source that it was made of; null for types that do not measure it. */
    source_etag: z.string().nullable(),
    error: jobErrorSchema.nullable(),
    results: jobTypes[type].results.nullable(),
    /** Whether retention removed objects that the results name. */
    results_expired: z.boolean(),
    /** The RunnerPool that runs it. */
    pool: z.string(),
    created_at: time,
    /** When its first attempt was claimed. */
    started_at: time.nullable(),
    /** When it ended. */
    finished_at: time.nullable(),
    updated_at: time,
    /** With `check=source`: whether the source is another one now; null when it is deleted, or was not measured. */
    source_changed: z.boolean().nullable().optional(),
    /** With `check=results`: whether the objects of the results are lost. */
    results_missing: z.boolean().optional(),
    /** In answers to submissions. */
    notice: noticeSchema.optional(),
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
      /** Whether the objects of the results are lost; absent where it is not known. */
      results_missing: z.boolean().optional(),
      notice: noticeSchema.optional(),
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

const rerunSchema = z.object({
  job_id: z.uuid(),
  type: jobTypeSchema,
  status: jobStatusSchema,
  rerun_of_job_id: z.uuid().nullable(),
});

const jobListSchema = z.object({ jobs: z.array(listedJobSchema), next_cursor: z.string().nullable() });

const callbacksSchema = z.object({
  job_id: z.uuid(),
  callback_url: z.string().nullable(),
  callback_status: callbackStatusSchema.nullable(),
  /** Null until the job has ended, and without a `callback_url`. */
  event_id: z.uuid().nullable(),
  next_attempt_at: time.nullable(),
  /** What each attempt sends, byte for byte; null without an event. */
  body: z.string().nullable(),
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

const uploadSchema = z.object({
  upload_id: z.uuid(),
  status: z.enum(uploadStatuses),
  /** Why it was aborted. */
  reason: z.enum(uploadReasons).nullable(),
  /** The key of the object, for submissions. */
  source: z.string(),
  name: z.string(),
  size: z.int().min(1),
  content_type: z.string().nullable(),
  sha256: z.string().nullable(),
  /** Of the object, once the upload has completed. */
  etag: z.string().nullable(),
  /** Of every part but the last. */
  part_size: z.int().min(1),
  /** At most 1,000, while the upload is open. */
  parts: z.array(
    z.object({
      number: z.int().min(1),
      size: z.int().min(1),
      url: z.string(),
      uploaded: z.boolean(),
      etag: z.string().nullable(),
    }),
  ),
  /** The `part_from` of the next page of parts. */
  next_part: z.int().nullable(),
  created_at: time,
  expires_at: time,
});

const importSchema = z.object({
  import_id: z.uuid(),
  status: z.enum(importStatuses),
  /** Without its query, which may be a signature. */
  url: z.string(),
  name: z.string(),
  /** The key of the object, for submissions once the import has completed. */
  source: z.string(),
  /** Stored so far. */
  bytes: z.int().min(0),
  /** Null before the first answer of the server, and where it does not say. */
  size: z.int().min(0).nullable(),
  content_type: z.string().nullable(),
  /** Announced, or else measured where one attempt fetched the whole file. */
  sha256: z.string().nullable(),
  /** Of the object, once the import has completed. */
  etag: z.string().nullable(),
  error: z
    .object({
      code: z.enum(importErrorCodes),
      /** What to do. */
      message: z.string(),
      /** Of the server's answer that decided it. */
      http_status: z.int().nullable(),
    })
    .nullable(),
  created_at: time,
  /** When it fails unless it has ended. */
  deadline_at: time,
  ended_at: time.nullable(),
});

const importListSchema = z.object({ imports: z.array(importSchema), next_cursor: z.string().nullable() });

const bucketEventOutcomesSchema = z.object({
  jobs: z.array(
    z.object({
      key: z.string(),
      version: z.string(),
      outcome: z.enum(['submitted', 'existing', 'duplicate', 'ignored', 'refused']),
      job_id: z.uuid().nullable(),
      /** Why it was ignored or refused. */
      reason: z.string().nullable(),
    }),
  ),
});

const clearKeySchema = z.object({
  keys: z.array(z.object({ kty: z.literal('oct'), kid: z.string(), k: z.string() })),
  type: z.literal('temporary'),
});

const listedMediaSchema = z.object({
  hash: z.string(),
  status: z.enum(mediaStatuses),
  created_at: time,
  updated_at: time,
  /** When it is deleted by itself; null: never. */
  expires_at: time.nullable(),
  legal_hold: z.boolean(),
  /** Of the objects that the results of its jobs name. */
  bytes: z.int().min(0),
  objects: z.int().min(0),
});

const count = z.int().min(0);
/** Addresses that are true to one revision. */
const revisionAddresses = { playlist: z.string(), manifest: z.string() };

const deletionReceiptSchema = z.object({
  v: z.literal(1),
  deletion_id: z.uuid(),
  hash: z.string(),
  reason: z.enum(deletionReasons),
  requested_at: time,
  finished_at: time,
  objects: count,
  bytes: count,
  objects_sha256: z.string(),
  kid: z.string().nullable(),
  signature: z.string(),
});

const mediaDeletionSchema = z.object({
  deletion_id: z.uuid(),
  hash: z.string(),
  status: z.enum(['deleting', 'deleted']),
  reason: z.enum(deletionReasons),
  requested_at: time,
  finished_at: time.nullable(),
  /** Null until they were listed. */
  objects_total: count.nullable(),
  objects_left: count.nullable(),
  bytes: count.nullable(),
  /** The key id of the content key that was destroyed. */
  kid: z.string().nullable(),
  /** What a CDN must purge; `*` stands for anything. */
  purge_paths: z.array(z.string()),
  receipt: deletionReceiptSchema.nullable(),
});

const mediaSchema = listedMediaSchema.extend({
  /** The key id of its content key. */
  kid: z.string().nullable(),
  /** The revision that `playback.master` leads to. */
  current: z.string().nullable(),
  /** Of a signed media, `{ticket}` stands for a ticket. */
  playback: z.object({ master: z.string(), ...revisionAddresses }).nullable(),
  playback_mode: z.enum(playbackModes),
  /** Tickets of a lesser one are withdrawn. */
  playback_generation: z.int().min(0),
  revisions: z.array(
    z.object({
      revision: z.string(),
      job_id: z.uuid(),
      type: jobTypeSchema,
      created_at: time,
      source: z.string(),
      /** Of the source object that it was made of. */
      source_etag: z.string().nullable(),
      profile: z.string(),
      /** The version of the service that made it; null where it recorded none. */
      tool_version: z.string().nullable(),
      bytes: count.nullable(),
      objects: count.nullable(),
      current: z.boolean(),
      ...revisionAddresses,
      tracks: z.array(z.string()),
    }),
  ),
  images: z.array(z.object({ job_id: z.uuid(), key: z.string() })),
  jobs: z.array(z.object({ job_id: z.uuid(), type: jobTypeSchema, status: jobStatusSchema, created_at: time })),
  deletion: mediaDeletionSchema.nullable(),
});

const mediaListSchema = z.object({ media: z.array(listedMediaSchema), next_cursor: z.string().nullable() });
const mediaFilesSchema = z.object({
  files: z.array(
    z.object({
      key: z.string(),
      size: count,
      etag: z.string(),
      /** Null where it is not known. */
      sha256: z.string().nullable(),
      last_modified: time,
    }),
  ),
  next_cursor: z.string().nullable(),
});

const playbackDaysSchema = z.object({
  days: z.array(
    z.object({
      /** UTC. */
      day: z.iso.date(),
      requests: count,
      /** An estimate of how many there were. */
      sessions: count,
      /** Of the requests, those after the buffer ran empty: 0 to 1. */
      starved_share: z.number().min(0).max(1),
      /** Null where no player said it. */
      median_throughput_kbps: count.nullable(),
    }),
  ),
});

const rolloutCountsSchema = itemCountsSchema.extend({
  /** Of the streams that were made and whose sizes are known; `saved` is negative where they grew. */
  bytes: z.object({ before: count, after: count, saved: z.int() }),
  /** Mean scores; null without one. `before` and `after` are of media that have both. */
  score: z.object({ mean: z.number().nullable(), before: z.number().nullable(), after: z.number().nullable() }),
});

const rolloutSchema = z.object({
  rollout_id: z.uuid(),
  status: z.enum(rolloutStatuses),
  paused: z.boolean(),
  /** Why it is, or was, rolled back or cancelled. */
  reason: z.string().nullable(),
  spec: rolloutRequestSchema,
  /** Whether every media was looked at: before, the counts still grow. */
  is_planned: z.boolean(),
  /** Of all media of the rollout. */
  media: rolloutCountsSchema,
  /** Of the canary alone. */
  canary: rolloutCountsSchema.nullable(),
  /** How the canary was judged; null before. */
  gate: z.object({ passed: z.boolean(), failures: z.array(z.string()) }).nullable(),
  /** Media that were found and not chosen, by why. */
  not_chosen: z.record(z.string(), count),
  /** Of the current day in UTC, by reruns that have ended. */
  hours_today: z.number(),
  created_at: time,
  updated_at: time,
  finished_at: time.nullable(),
});

/** One rollout, with its last failures. */
const rolloutDetailsSchema = rolloutSchema.extend({
  failures: z.array(z.object({ hash: z.string(), job_id: z.uuid().nullable(), reason: z.string() })),
});

const rolloutListSchema = z.object({ rollouts: z.array(rolloutSchema), next_cursor: z.string().nullable() });

const jobChunksSchema = z.object({
  job_id: z.uuid(),
  /** In their order; null for a job in one piece, and where they are not known. */
  chunks: z.array(z.object({ frames: count, finished: z.boolean() })).nullable(),
});

/** Milliseconds; null: not known. */
const knownMs = count.nullable();
const jobTimelineSchema = z.object({
  job_id: z.uuid(),
  pool: z.string(),
  accepted_at: time,
  finished_at: time.nullable(),
  /** Those that were claimed, in their order. */
  attempts: z
    .array(
      z.object({
        attempt: z.int().min(1),
        /** The process that ran it, or `kubernetes`; the pods of its units are beside them. */
        worker: z.string().nullable(),
        claimed_at: time,
        /** Null while it runs. */
        ended_at: time.nullable(),
        duration_ms: knownMs,
        /** `retried` counts as a failure, `disrupted` does not. */
        result: z.enum(endResults).nullable(),
        code: z.enum(jobErrorCodes).nullable(),
        /** Of all steps where it is known. */
        processor_ms: knownMs,
        /** In the order of their starts, once it has ended. */
        units: z.array(unitRunSchema).max(unitsListedMax),
        units_left_out: count,
      }),
    )
    .max(attemptsKept + 1),
  /** Of all attempts, as far as it is known. */
  usage: z.object({
    duration_ms: knownMs,
    processor_ms: knownMs,
    source_bytes: count.nullable(),
    result_bytes: count.nullable(),
  }),
});

const poolListSchema = z.object({
  pools: z.array(
    z.object({
      name: z.string(),
      /** The queue that it serves; null for a pool that only some jobs ask for. */
      queue: z.enum(queueNames).nullable(),
      running: count,
      /** Of the jobs that were counted. */
      waiting: count,
      oldest_waiting_at: time.nullable(),
      /** Why they wait, what most of them wait for first. */
      reasons: z.array(
        waitingReasonSchema.extend({
          jobs: count,
          /** The oldest of them. */
          job_id: z.uuid(),
        }),
      ),
    }),
  ),
  /** Of each queue at most the oldest so many waiting jobs are counted. */
  counted_max: count,
});

const listedProfileSchema = z.object({
  name: z.string(),
  /** Where it is from: a MediaProfile of the cluster, `MEDIA_PROFILES`, or the service itself. */
  origin: z.enum(profileOrigins),
  /** SHA-256 of all that it decides: another digest, other streams. */
  digest: z.string(),
  /** How many rungs its ladder has. */
  rungs: count,
  codecs: z.array(z.enum(videoCodecs)),
});

const profileListSchema = z.object({
  profiles: z.array(listedProfileSchema),
  /** Which source gets which; the first that fits decides, else `default`. */
  rules: z.array(
    z.object({
      profile: z.string(),
      source_prefix: z.string().nullable(),
      source_bytes_min: count.nullable(),
      source_bytes_max: count.nullable(),
    }),
  ),
});

/** One profile, as the value of `MEDIA_PROFILES`. */
const profileSchema = listedProfileSchema.extend({ yaml: z.string() });

const profileCheckSchema = z.object({
  valid: z.boolean(),
  faults: z.array(
    z.object({
      /** The MediaProfile; null in a value of `MEDIA_PROFILES`. */
      profile: z.string().nullable(),
      /** Empty for a fault of the whole text. */
      field: z.string(),
      detail: z.string(),
      /** From 1; null where it is not known. */
      line: z.int().min(1).nullable(),
    }),
  ),
  /** What each profile of the text would make of the source; empty where there are faults. */
  profiles: z.array(
    z.object({
      name: z.string(),
      digest: z.string(),
      ladder: z.array(
        z.object({
          track: z.string(),
          codec: z.enum(videoCodecs),
          range: z.enum(videoRanges),
          width: count,
          height: count,
          /** Bits a second. */
          bitrate_max: count,
          bytes_max: count,
          /** Whether playback starts with it. */
          is_first: z.boolean(),
        }),
      ),
      /** One stereo track. */
      audio: z.object({ bitrate: count, bytes_max: count }),
      /** Of all rungs and one stereo track, by the caps of their bitrates: constant quality mostly needs less. */
      bytes_max: count,
    }),
  ),
});

/** The body of `POST /api/profiles/check`. */
const profileCheckRequestSchema = z.strictObject({
  text: z
    .string()
    .max(98_304)
    .describe('YAML: the value of `MEDIA_PROFILES`, or MediaProfiles as kubectl applies them.'),
  source: z
    .strictObject({
      width: z.int().min(2).max(16_384),
      height: z.int().min(2).max(16_384),
      duration_sec: z.number().positive().max(604_800),
      hdr: z.enum(videoRanges).default('sdr'),
    })
    .prefault({ width: 1920, height: 1080, duration_sec: 3600 })
    .describe('The source that ladders and sizes are stated for.'),
});

const consoleLinksSchema = z.object({
  /** One for each image that was asked for, in order; `path` is relative to the server. */
  images: z.array(z.object({ key: z.string(), path: z.string(), expires_at: time })),
  playback: z.object({ hash: z.string(), token: z.string(), expires_at: time }).nullable(),
});

/** What `POST /api/console/links` signs. */
const consoleLinksRequestSchema = z.strictObject({
  images: z.array(thumbRequestSchema).max(100).default([]),
  /** The hash of a stream. */
  playback: mediaHashSchema.optional(),
  /** How long its token is valid: a minute to a week. */
  playback_expires_in_sec: z.int().min(60).max(604_800).default(600),
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

/** One entry for each submission, in their order. */
const batchAnswerSchema = z.object({
  jobs: z.array(
    z.object({
      /** What the submission would be answered with by itself. */
      status: z.int(),
      job: z.union([jobSchema, jobCompletedSchema, jobCreatedSchema]).optional(),
      problem: problemSchema.optional(),
    }),
  ),
});

/** The shapes of answers, by their names in the OpenAPI document. */
export const answerSchemas = {
  Job: jobSchema,
  JobCreated: jobCreatedSchema,
  JobCompleted: jobCompletedSchema,
  BatchAnswer: batchAnswerSchema,
  ListedJob: listedJobSchema,
  JobList: jobListSchema,
  Retry: retrySchema,
  Rerun: rerunSchema,
  Callbacks: callbacksSchema,
  ConsoleLinks: consoleLinksSchema,
  Media: mediaSchema,
  ListedMedia: listedMediaSchema,
  MediaList: mediaListSchema,
  MediaFiles: mediaFilesSchema,
  PlaybackDays: playbackDaysSchema,
  MediaDeletion: mediaDeletionSchema,
  JobChunks: jobChunksSchema,
  JobTimeline: jobTimelineSchema,
  PoolList: poolListSchema,
  ProfileList: profileListSchema,
  Profile: profileSchema,
  ProfileCheck: profileCheckSchema,
  Rollout: rolloutSchema,
  RolloutDetails: rolloutDetailsSchema,
  RolloutList: rolloutListSchema,
  Upload: uploadSchema,
  Import: importSchema,
  ImportList: importListSchema,
  BucketEventOutcomes: bucketEventOutcomesSchema,
  ClearKeyLicence: clearKeySchema,
  WebhookEvent: webhookEventSchema,
  Problem: problemSchema,
} as const;
export type AnswerName = keyof typeof answerSchemas;
export type Wire<Name extends AnswerName> = z.output<(typeof answerSchemas)[Name]>;

/** A line of text of a caller. */
const lineOfText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
    // eslint-disable-next-line no-control-regex -- control characters are what is refused
    .refine((text) => !/[\u0000-\u001f\u007f-\u009f]/.test(text), 'must not contain control characters');

const sha256Schema = z.string().regex(/^[0-9A-Fa-f]{64}$/, 'must be 64 hexadecimal characters');

/** The body of `POST /api/uploads`. */
const uploadBodySchema = z.strictObject({
  /** The name of the file; the object's key ends with what keys may have of it. */
  name: lineOfText(255).min(1),
  /** In bytes. */
  size: z.int().min(1),
  content_type: z
    .string()
    .max(127)
    .regex(/^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+$/, 'must be a media type, such as video/mp4')
    .optional(),
  /** Of the whole file, in hex; checked on completion. */
  sha256: sha256Schema.optional(),
});

/** The body of `POST /api/imports`. */
const importBodySchema = z.strictObject({
  /** http or https; its host is one that IMPORT_HOSTS names. */
  url: callerUrlSchema,
  /** By default the last segment of the address; the object's key ends with what keys may have of it. */
  name: lineOfText(255).min(1).optional(),
  /** Of the whole file, in hex; checked at its end. */
  sha256: sha256Schema.optional(),
});
/** As many as share a statement. */
const batchSizeMax = 500;

/** The outer shape of a batch; each submission is checked by itself. */
export const batchShape = z.strictObject({ jobs: z.array(z.unknown()).min(1).max(batchSizeMax) });

/** The shapes of request bodies, by their names in the OpenAPI document. */
export const bodySchemas = {
  CreateJobRequest: submissionBodySchema,
  ConsoleLinksRequest: consoleLinksRequestSchema,
  BatchRequest: z.strictObject({ jobs: z.array(submissionBodySchema).min(1).max(batchSizeMax) }),
  RerunRequest: z.strictObject({
    /** For people; it is stored with the new job. */
    reason: lineOfText(200).optional(),
    /** By default the profile of the earlier job. */
    profile: z.string().min(1).max(253).optional(),
  }),
  MediaChange: mediaChangeSchema,
  CurrentRevision: currentRevisionSchema,
  NoFields: z.strictObject({}),
  CreateUploadRequest: uploadBodySchema,
  CreateImportRequest: importBodySchema,
  CreateRolloutRequest: rolloutRequestSchema,
  ProfileCheckRequest: profileCheckRequestSchema,
  BucketNotification: z.looseObject({}),
} as const;

/** The query of `GET /api/uploads/{id}`. */
export const uploadQuerySchema = z.strictObject({
  /** The first part of the answer. */
  part_from: z.coerce.number<string>().int().min(1).max(partsMax).default(1),
});

/** The query of `GET /api/imports`. */
export const importListQuerySchema = z.strictObject({
  limit: z.coerce.number<string>().int().min(1).max(100).default(50),
  cursor: z.string().max(256).optional(),
});

/** The query of `GET /api/jobs/{id}`. */
export const jobQuerySchema = z.object({
  /** What is asked of the buckets. */
  check: z.enum(['source', 'results', 'source,results']).optional(),
});

/** The query of `GET /api/jobs/{id}/events`. */
export const jobEventsQuerySchema = z.object({
  /** What each event leaves out. */
  exclude: z.literal('results').optional(),
});

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

/** The query of `PUT /api/uploads/{id}/parts/{number}`. */
export const uploadPartQuerySchema = z.strictObject({
  /** Unix seconds. */
  exp: z.string().optional(),
  sig: z.string().optional(),
});
