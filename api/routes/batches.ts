import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { parseSubmission } from '#domain/jobs/submission.ts';
import { type SubmissionOutcome, submitJobs } from '#jobs/submission/submit.ts';
import { problemDocument, requestProblemOf, statusOfProblem } from '#platform/http/problem-response.ts';
import { traceOf } from '#platform/http/tracing.ts';
import { isKnownToBeAllowed } from '#platform/outbound-http/callback-address.ts';
import { waitingReasonsOf } from '#platform/postgres/job-waiting.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { OwnerStore } from '#platform/postgres/owner-store.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyOf } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import { refusalsOf } from '../own-submissions.ts';
import { choicesOf, warnOfQuotas } from '../submission-headers.ts';
import { validated } from '../validated.ts';
import { batchAnswerSchema, batchShape } from '../wire/batch.ts';
import { submissionToWire } from '../wire/job.ts';
import * as docs from './jobs.doc.ts';

/** 500 submissions of 8 KiB, which is more than any sensible one has. */
const batchBytesMax = 4 * 1024 * 1024;

interface BatchRouteDependencies extends ApiDependencies {
  readonly guards: Guards;
  readonly owners: OwnerStore;
}

/** `POST /api/jobs/batch`: each submission has the answer that it would have by itself (C11.39 to C11.42). */
export function addBatchRoute(app: FastifyInstance, dependencies: BatchRouteDependencies): void {
  const { config, database, log, guards, owners } = dependencies;
  const onRequest = guards.limitedByBatch;
  app.post(
    '/api/jobs/batch',
    { onRequest, bodyLimit: batchBytesMax, config: { doc: docs.batch } },
    async (request, reply): Promise<z.output<typeof batchAnswerSchema>> => {
      const { jobs } = validated(batchShape, request.body);
      const choices = choicesOf(request);
      const parsed = jobs.map((body) =>
        parseSubmission(body, (url) => isKnownToBeAllowed(url, config.webhookAllowedCidrs)),
      );
      const valid = parsed.flatMap(({ submission }) => (submission === undefined ? [] : [submission]));
      const refusals = await refusalsOf(apiKeyOf(request), valid, owners);
      const submissions = valid.filter((_, index) => refusals[index] === null);
      const outcomes = (await submitJobs(dependencies, submissions, { trace: traceOf(request), choices })).values();
      const refusalOfNext = refusals.values();
      const answers = parsed.map(({ faults }): SubmissionOutcome => {
        if (faults !== undefined) return { error: new KnownProblem('invalid_request', undefined, { faults }) };
        const error: unknown = refusalOfNext.next().value;
        return error === null ? (outcomes.next().value as SubmissionOutcome) : { error };
      });
      for (const answer of answers)
        if ('isNew' in answer && answer.isNew) audit(log, request, { what: 'job submitted', jobId: answer.job.id });
      for (const answer of answers) if ('near' in answer) warnOfQuotas(reply, answer.near);
      const equal = answers.flatMap((answer) => ('error' in answer || answer.isNew ? [] : [answer.job]));
      const reasons = await waitingReasonsOf(database, equal);
      return { jobs: answers.map((answer) => entryOf(answer, request, { reply, log, reasons })) };
    },
  );
}

interface EntryContext {
  readonly reply: FastifyReply;
  readonly log: Logger;
  readonly reasons: Awaited<ReturnType<typeof waitingReasonsOf>>;
}

function entryOf(
  outcome: SubmissionOutcome,
  request: FastifyRequest,
  { reply, log, reasons }: EntryContext,
): z.output<typeof batchAnswerSchema>['jobs'][number] {
  if (!('error' in outcome)) {
    const reason = reasons.get(outcome.job.id) ?? null;
    return { status: outcome.isNew ? 202 : 200, job: submissionToWire(outcome, reason) };
  }
  const problem = requestProblemOf(outcome.error);
  if (problem.code === 'internal_error') log.error({ err: outcome.error }, 'submission of a batch failed');
  return { status: statusOfProblem(problem.code), problem: problemDocument(request, reply, problem) };
}
