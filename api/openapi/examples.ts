import { type RequestErrorCode, requestErrors } from '#domain/errors.ts';
import { importErrors } from '#domain/imports/import.ts';
import type { JobError } from '#domain/job-error.ts';
import { type JobType, jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { webhookBody } from '#domain/webhooks/event-body.ts';
import { statusOfProblem } from '#platform/http/problem-response.ts';
import { profileExamples } from './profile-examples.ts';
import { rolloutExamples } from './rollout-examples.ts';
import { mediaExamples } from './media-examples.ts';
import examples from './examples.json' with { type: 'json' };

// The examples of answers in the OpenAPI document are from docs/guides/api.md, which a test compares with a running
// service.

/** Named examples of one media type. */
type Examples = Record<string, { readonly value: unknown }>;

/** A type whose results no page shows yet has none here. */
const shownResults: Readonly<Partial<Record<JobType, unknown>>> = examples.results;
const shown = { ...examples, results: shownResults };

const endedAt = shown.job.eta;
const { job_id: jobId, hash } = shown.job;

function ofEachType(value: (type: JobType) => unknown): Examples {
  return Object.fromEntries(jobTypeNames.map((type) => [type, { value: value(type) }]));
}

function completed(type: JobType): object {
  return {
    ...shown.job,
    type,
    status: 'completed',
    phase: null,
    progress: jobTypes[type].completedProgress,
    eta: null,
    profile: profileOf(type),
    results: shown.results[type],
    finished_at: endedAt,
    updated_at: endedAt,
  };
}

function profileOf(type: JobType): string | null {
  return jobTypes[type].makesStream ? shown.job.profile : null;
}

const listed = Object.fromEntries(Object.entries(shown.job).filter(([name]) => name !== 'results'));
const failed = { ...completed('image:thumbnail'), status: 'failed', progress: 0, results: null, error: shown.error };
const eventId = 'f3b1c7de-8a64-4d6f-a1c5-90e7b2d4c813';
const callbacks = {
  job_id: jobId,
  callback_url: 'https://example.com/hooks/media',
  callback_status: 'sent',
  event_id: eventId,
  next_attempt_at: null,
  body: webhookBody(
    { id: jobId, type: 'video:preview', hash, status: 'failed', results: null, error: shown.error as JobError },
    { eventId, occurredAt: new Date(endedAt) },
  ),
  attempts: [{ attempt: 1, started_at: endedAt, duration_ms: 84, status_code: 204, error: null }],
};

const upload = {
  upload_id: 'c1d7a7f4-3a0e-4a57-9b3c-2a60a1b6f7d2',
  status: 'open',
  reason: null,
  source: 'uploads/c1d7a7f4-3a0e-4a57-9b3c-2a60a1b6f7d2/movie-1.mp4',
  name: 'movie-1.mp4',
  size: 9437184,
  content_type: 'video/mp4',
  sha256: null,
  etag: null,
  part_size: 8388608,
  parts: [
    {
      number: 1,
      size: 8388608,
      url: 'https://s3.example.com/…',
      uploaded: true,
      etag: '"5d41402abc4b2a76b9719d911017c592"',
    },
    { number: 2, size: 1048576, url: 'https://s3.example.com/…', uploaded: false, etag: null },
  ],
  next_part: null,
  created_at: endedAt,
  expires_at: endedAt,
};

const imported = {
  import_id: '2f0c8f7e-5a0c-4a0e-8a53-0f1b8f3c7a11',
  status: 'running',
  url: 'https://media.example.com/movie-1.mp4',
  name: 'movie-1.mp4',
  source: 'uploads/2f0c8f7e-5a0c-4a0e-8a53-0f1b8f3c7a11/movie-1.mp4',
  bytes: 8388608,
  size: 9437184,
  content_type: 'video/mp4',
  sha256: null,
  etag: null,
  error: null,
  created_at: endedAt,
  deadline_at: endedAt,
  ended_at: null,
};

/** Examples of answers, by the name of their schema. */
export const answerExamples: Readonly<Record<string, Examples>> = {
  Job: { running: { value: shown.job }, ...ofEachType(completed), failed: { value: failed } },
  JobCreated: { created: { value: shown.created } },
  JobCompleted: ofEachType((type) => {
    const results = shown.results[type];
    return { job_id: jobId, type, hash, status: 'completed', profile: profileOf(type), results };
  }),
  BatchAnswer: {
    batch: {
      value: {
        jobs: [
          { status: 202, job: shown.created },
          { status: 400, problem: { ...shown.problem, instance: '/api/jobs/batch' } },
        ],
      },
    },
  },
  ListedJob: { running: { value: listed } },
  JobList: { page: { value: { jobs: [listed], next_cursor: null } } },
  Retry: { retry: { value: shown.retry } },
  Rerun: { rerun: { value: shown.rerun } },
  Callbacks: { delivered: { value: callbacks } },
  ...mediaExamples,
  ...rolloutExamples,
  ...profileExamples,
  ConsoleLinks: {
    links: {
      value: {
        images: [
          {
            key: 'images/9e/photo-1/daf4f904f14ca0cd/small.webp',
            path: '/thumb/Zm9yLWV4YW1wbGUtb25seQ/aW1hZ2VzLzllL3Bob3RvLTEvZGFmNGY5MDRmMTRjYTBjZC9zbWFsbC53ZWJw?exp=1789000200',
            expires_at: endedAt,
          },
        ],
        playback: { hash, token: 'payload.signature', expires_at: endedAt },
      },
    },
  },
  Upload: {
    open: { value: upload },
    completed: { value: { ...upload, status: 'completed', etag: '"9b2cf535f27731c974343645a3985328-2"', parts: [] } },
  },
  Import: {
    running: { value: imported },
    failed: {
      value: {
        ...imported,
        status: 'failed',
        error: { code: 'not_found', message: importErrors.not_found, http_status: 404 },
        ended_at: endedAt,
      },
    },
  },
  ImportList: { page: { value: { imports: [imported], next_cursor: null } } },
  BucketEventOutcomes: {
    submitted: {
      value: {
        jobs: [{ key: upload.source, version: '5d41402abc4b2a76', outcome: 'submitted', job_id: jobId, reason: null }],
      },
    },
  },
  ClearKeyLicence: {
    licence: {
      value: {
        keys: [{ kty: 'oct', kid: 'R-S-S3rDe0FcjNFUVEFMog', k: 'AAECAwQFBgcICQoLDA0ODw' }],
        type: 'temporary',
      },
    },
  },
  WebhookEvent: ofEachType((type) => ({
    event_id: callbacks.event_id,
    occurred_at: endedAt,
    job_id: jobId,
    type,
    hash,
    status: 'completed',
    results: shown.results[type],
  })),
};

/** The problem documents of these codes. */
export function problemExamples(codes: readonly RequestErrorCode[]): Examples {
  const { errors: _errors, ...problem } = shown.problem;
  return Object.fromEntries(
    codes.map((code) => {
      const { publicMessage: title } = requestErrors[code];
      const names = { type: `/docs#problem-${code}`, title, status: statusOfProblem(code), code };
      if (code === shown.problem.code) return [code, { value: shown.problem }];
      return [code, { value: { ...problem, ...names, detail: title } }];
    }),
  );
}
