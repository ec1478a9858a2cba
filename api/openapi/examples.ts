import { type RequestErrorCode, requestErrors } from '#domain/errors.ts';
import { type JobType, jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { statusOfProblem } from '#platform/http/problem-response.ts';
import { type Components, reference } from './components.ts';
import { exampleOf } from './example-of.ts';
import examples from './examples.json' with { type: 'json' };

// Examples of answers in the OpenAPI document: of jobs from docs/guides/api.md, which a test compares with a running
// service, of all others made of the examples of their fields.

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

/** Examples of answers about jobs, by the name of their schema. */
const written: Readonly<Record<string, Examples>> = {
  Job: { running: { value: shown.job }, ...ofEachType(completed), failed: { value: failed } },
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
  JobList: { page: { value: { jobs: [listed], next_cursor: null } } },
  WebhookEvent: ofEachType((type) => ({
    event_id: 'f3b1c7de-8a64-4d6f-a1c5-90e7b2d4c813',
    occurred_at: endedAt,
    job_id: jobId,
    type,
    hash,
    status: 'completed',
    results: shown.results[type],
  })),
};

/** Named examples of an answer. */
export function examplesOf(name: string, components: Components): Examples {
  return written[name] ?? { example: { value: exampleOf(reference(name), components) } };
}

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
