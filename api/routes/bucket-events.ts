import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readNotification } from '#domain/bucket-events/notification.ts';
import { KnownProblem } from '#domain/errors.ts';
import { submitBucketEvents } from '#jobs/submission/submit-bucket-events.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import { traceOf } from '#platform/http/tracing.ts';
import { BucketEventStore } from '#platform/postgres/bucket-event-store.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { isOneOf } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import type { Wire } from '../wire/schemas.ts';

const doc: RouteDoc = {
  tag: 'Uploads',
  operationId: 'receiveBucketEvents',
  summary: 'Receive events of the source bucket',
  description:
    'A notification of S3 (`Records`) or one event of Amazon EventBridge. Each object that was created is submitted by the first of `EVENT_RULES` that matches its key, once per version. `Authorization: Bearer` with `EVENTS_TOKEN` is accepted in place of an API key. After a 5xx the sender repeats the notification.',
  credential: 'api_key',
  body: {
    name: 'BucketNotification',
    isRequired: true,
    example: {
      Records: [
        {
          eventName: 's3:ObjectCreated:Put',
          s3: { bucket: { name: 'sources' }, object: { key: 'uploads/movie-1.mp4', eTag: '5d41402abc4b2a76' } },
        },
      ],
    },
  },
  answers: { 200: { description: 'What became of each event, in their order.', schemas: ['BucketEventOutcomes'] } },
  problems: ['invalid_json', 'invalid_request', 'body_too_large', 'not_configured', 'unsupported_media_type'],
};

type EventRouteDependencies = ApiDependencies & { readonly guards: Guards };

/** `POST /api/events/s3`. */
export function addBucketEventRoutes(app: FastifyInstance, dependencies: EventRouteDependencies): void {
  const { config, guards, log, database } = dependencies;
  const { eventRules: rules, eventsTokens, source } = config;
  const bucketEvents = new BucketEventStore(database);
  const sourceBucket = source.s3 === undefined ? null : source.bucket;
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    if (!hasToken(request, eventsTokens)) await guards.authenticated(request, reply);
  };

  app.post('/api/events/s3', { onRequest, config: { doc } }, async (request) => {
    if (rules.length === 0)
      throw new KnownProblem(
        'not_configured',
        'The operator sets EVENT_RULES, which say what becomes of which object.',
      );
    const read = readNotification(request.body);
    if ('faults' in read) throw new KnownProblem('invalid_request', undefined, { faults: read.faults });
    const submitting = { ...dependencies, bucketEvents, rules, sourceBucket };
    const outcomes = await submitBucketEvents(submitting, read.events, traceOf(request));
    for (const { outcome, jobId } of outcomes)
      if (outcome === 'submitted' && jobId !== null) audit(log, request, { what: 'job submitted', jobId });
    const answer: Wire<'BucketEventOutcomes'> = {
      jobs: outcomes.map(({ jobId, ...rest }) => ({ ...rest, job_id: jobId })),
    };
    return answer;
  });
}

/** Whether `Authorization` has one of the tokens. */
function hasToken(request: FastifyRequest, tokens: readonly string[]): boolean {
  const [, given] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  return given !== undefined && isOneOf(tokens, given);
}
