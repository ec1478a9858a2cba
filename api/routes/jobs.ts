import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import type { ShownJob } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { parseSubmission } from '#domain/jobs/submission.ts';
import { areResultsMissing, isSourceChanged } from '#jobs/checks.ts';
import { cancelJob } from '#jobs/submission/cancel.ts';
import { retryJob } from '#jobs/submission/retry.ts';
import { submitJob } from '#jobs/submission/submit.ts';
import { matchesEtag } from '#platform/http/request-headers.ts';
import { traceOf } from '#platform/http/tracing.ts';
import { isKnownToBeAllowed } from '#platform/outbound-http/callback-address.ts';
import { listJobs } from '#platform/postgres/job-list.ts';
import type { JobQueries } from '#platform/postgres/job-queries.ts';
import type { FoundJob } from '#platform/postgres/job-store.ts';
import type { OwnerStore } from '#platform/postgres/owner-store.ts';
import { waitingReasonOf, waitingReasonsOf } from '#platform/postgres/job-waiting.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { apiKeyOf } from '../hooks/api-key.ts';
import { readJobCursor, writeJobCursor } from '../job-cursor.ts';
import { noSuchJob } from '../missing.ts';
import { refusalsOf } from '../own-submissions.ts';
import { validated } from '../validated.ts';
import { jobToWire, listedJobToWire, retryToWire, submissionToWire } from '../wire/job.ts';
import { usedTimesToWire } from '../wire/usage.ts';
import { choicesOf, warnOfQuotas } from '../submission-headers.ts';
import * as docs from './jobs.doc.ts';
import { jobListQuerySchema, jobQuerySchema, type jobSchema, noFieldsSchema } from '../wire/job-schemas.ts';

// Job management (docs/reference/contract.md, "Submission" and "Jobs"). Every route requires `X-API-Key`; those that
// make jobs are limited for each key.

/** `Retry-After` of an active job in seconds: a hint, since jobs take seconds to hours. */
const pollAfterSec = 2;

type JobRequest = FastifyRequest<{ Params: { id: string } }>;
interface JobRouteDependencies extends ApiDependencies {
  readonly queries: JobQueries;
  readonly guards: Guards;
  readonly owners: OwnerStore;
}

export function addJobRoutes(app: FastifyInstance, dependencies: JobRouteDependencies): void {
  const { config, log } = dependencies;
  const { authenticated, limited } = dependencies.guards;

  app.post('/api/jobs', { onRequest: limited, config: { doc: docs.submit } }, async (request, reply) => {
    const { submission, faults } = parseSubmission(request.body, (url) =>
      isKnownToBeAllowed(url, config.webhookAllowedCidrs),
    );
    if (faults !== undefined) throw new KnownProblem('invalid_request', undefined, { faults });
    const [refusal] = await refusalsOf(apiKeyOf(request), [submission], dependencies.owners);
    if (refusal !== null) throw refusal;
    const choices = choicesOf(request);
    const outcome = await submitJob(dependencies, submission, traceOf(request), choices);
    if (outcome.isNew) audit(log, request, { what: 'job submitted', jobId: outcome.job.id });
    warnOfQuotas(reply, outcome.near);
    const reason = outcome.isNew ? null : await waitingReasonOf(dependencies.database, outcome.job);
    return reply
      .code(outcome.isNew ? 202 : 200)
      .header('location', `/api/jobs/${outcome.job.id}`)
      .send(submissionToWire(outcome, reason));
  });

  app.get('/api/jobs', { onRequest: authenticated, config: { doc: docs.list } }, async (request) => {
    const { cursor, limit, include, created_after, created_before, ...given } = validated(
      jobListQuerySchema,
      request.query,
    );
    const after = cursor === undefined ? null : readJobCursor(cursor);
    // One more than is shown: it exists when there is another page.
    const page = { after, limit: limit + 1, hasResults: include === 'results' };
    const hashPrefix = apiKeyOf(request)?.hashPrefix ?? null;
    const times = { createdAfter: dateOf(created_after), createdBefore: dateOf(created_before) };
    const jobs = await listJobs(dependencies.listDatabase, { ...given, ...times, hashPrefix }, page);
    const last = jobs.length > limit ? jobs[limit - 1] : undefined;
    const listed = jobs.slice(0, limit);
    const reasons = await waitingReasonsOf(dependencies.listDatabase, listed, false);
    const shown = listed.map((job) => listedJobToWire(job, reasons.get(job.id) ?? null));
    return { jobs: shown, next_cursor: last === undefined ? null : writeJobCursor(last) };
  });

  app.get(
    '/api/jobs/:id',
    { onRequest: authenticated, config: { doc: docs.find } },
    async (request: JobRequest, reply) => {
      const job = await findJob(dependencies, request.params.id);
      const { check = '' } = validated(jobQuerySchema, request.query);
      const [reason, checked] = await Promise.all([
        waitingReasonOf(dependencies.database, job),
        checkedOf(dependencies, job, check.split(',')),
      ]);
      return answerJob(request, reply, {
        job,
        body: { ...jobToWire(job, reason), usage: usedTimesToWire(job.used), ...checked },
      });
    },
  );

  app.post(
    '/api/jobs/:id/retry',
    { onRequest: limited, config: { doc: docs.retry } },
    async (request: JobRequest, reply) => {
      refuseFields(request);
      const jobs = await retryJob(dependencies, request.params.id, traceOf(request), apiKeyOf(request));
      for (const job of jobs) audit(log, request, { what: 'job retried', jobId: job.id });
      return reply.code(202).send(retryToWire(request.params.id, jobs));
    },
  );

  app.post(
    '/api/jobs/:id/cancel',
    { onRequest: authenticated, config: { doc: docs.cancel } },
    async (request: JobRequest) => {
      refuseFields(request);
      const job = await cancelJob(dependencies, request.params.id);
      audit(log, request, { what: 'job cancelled', jobId: job.id });
      return jobToWire(job);
    },
  );
}

const dateOf = (time: string | undefined) => (time === undefined ? undefined : new Date(time));

/** @throws KnownProblem `not_found`, also for a malformed id (C22.11) */
export async function findJob({ jobs }: Pick<ApiDependencies, 'jobs'>, id: string): Promise<FoundJob> {
  const job = await jobs.findShown(id);
  if (job === null) throw noSuchJob(id);
  return job;
}

/** Asks the buckets for what a caller wants checked; a field is left out where the storage does not answer. */
async function checkedOf(
  { source, media }: Pick<ApiDependencies, 'source' | 'media'>,
  job: ShownJob,
  checks: readonly string[],
): Promise<Pick<z.output<typeof jobSchema>, 'source_changed' | 'results_missing'>> {
  const [isChanged, isMissing] = await Promise.all([
    checks.includes('source') ? isSourceChanged(source, job) : undefined,
    checks.includes('results') ? areResultsMissing(media, job) : undefined,
  ]);
  return {
    ...(isChanged === undefined ? {} : { source_changed: isChanged }),
    ...(isMissing === undefined ? {} : { results_missing: isMissing }),
  };
}

/** Accepts an empty body or an object without fields, which some clients must send (C13.18). */
export function refuseFields(request: FastifyRequest): void {
  validated(noFieldsSchema.optional(), request.body);
}

/** Answers with a job and its ETag, so that polling costs no body while nothing has changed (C13.10). */
function answerJob(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: { readonly job: ShownJob; readonly body: z.output<typeof jobSchema> },
): FastifyReply {
  const { job } = answer;
  const body = JSON.stringify(answer.body);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  reply.header('etag', etag).header('cache-control', 'no-cache');
  if (!isFinal(job.status)) reply.header('retry-after', pollAfterSec);
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.header('content-type', 'application/json; charset=utf-8').send(body);
}
