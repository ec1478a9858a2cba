import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { faultsOf, parseSubmission } from '#domain/jobs/submission.ts';
import type { JobQueries } from '#platform/postgres/job-queries.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { isKnownToBeAllowed } from '../callback-address.ts';
import { checkApiKey } from '../hooks/api-key.ts';
import { announceLimit, type RateLimit, type RateLimiter } from '../hooks/rate-limit.ts';
import { traceOf } from '../hooks/tracing.ts';
import { matchesEtag } from '../http-headers.ts';
import { retryJob } from '../retry-job.ts';
import { submitJob } from '../submit-job.ts';
import { jobToWire, retryToWire, submissionToWire } from '../wire/job.ts';

// Job management (section 4). Every route wants `X-API-Key`; those that make jobs are limited for each key.

/** When to ask again for a job that is under way, in seconds: a hint, since jobs take seconds to hours. */
const pollAfterSec = 2;

const emptyBody = z.strictObject({}).optional();

type JobRequest = FastifyRequest<{ Params: { id: string } }>;

export function addJobRoutes(
  app: FastifyInstance,
  d: ApiDependencies & { readonly queries: JobQueries; readonly limiter: RateLimiter },
): void {
  const limit: RateLimit = { name: 'api', quota: d.config.apiRateLimitPerMinute };
  const authenticated = async (request: FastifyRequest) => {
    checkApiKey(request, d.config.apiKeys);
  };
  // Before the body is read, so that requests that fail validation count; a failed authentication spends nothing.
  const limited = async (request: FastifyRequest, reply: FastifyReply) => {
    announceLimit(limit, reply);
    await d.limiter.spend(limit, checkApiKey(request, d.config.apiKeys), reply);
  };

  app.post('/api/jobs', { onRequest: limited }, async (request, reply) => {
    const { submission, faults } = parseSubmission(request.body, (url) =>
      isKnownToBeAllowed(url, d.config.webhook.allowedCidrs),
    );
    if (faults !== undefined) throw new KnownProblem('invalid_request', undefined, { faults });
    const outcome = await submitJob(d, submission, traceOf(request));
    return reply
      .code(outcome.isNew ? 202 : 200)
      .header('location', `/api/jobs/${outcome.job.id}`)
      .send(submissionToWire(outcome));
  });

  app.get('/api/jobs/:id', { onRequest: authenticated }, async (request: JobRequest, reply) => {
    const job = await d.jobs.find(request.params.id);
    if (job === null) throw new KnownProblem('not_found', 'There is no such job.');
    return answerJob(request, reply, job);
  });

  app.post('/api/jobs/:id/retry', { onRequest: limited }, async (request: JobRequest, reply) => {
    const body = emptyBody.safeParse(request.body);
    if (!body.success) throw new KnownProblem('invalid_request', undefined, { faults: faultsOf(body.error) });
    const jobs = await retryJob(d, request.params.id, traceOf(request));
    return reply.code(202).send(retryToWire(request.params.id, jobs));
  });
}

/** A job with its ETag, so that polling costs no body while nothing has changed. */
function answerJob(request: FastifyRequest, reply: FastifyReply, job: Job): FastifyReply {
  const body = JSON.stringify(jobToWire(job));
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  reply.header('etag', etag).header('cache-control', 'no-cache');
  if (!isFinal(job.status)) reply.header('retry-after', pollAfterSec);
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.header('content-type', 'application/json; charset=utf-8').send(body);
}
