import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readNotification } from '#domain/bucket-events/notification.ts';
import { KnownProblem } from '#domain/errors.ts';
import { submitBucketEvents } from '#jobs/submission/submit-bucket-events.ts';
import { addJsonBody } from '#platform/http/json-body.ts';
import { answers, bodies, type RouteDoc } from '#platform/http/route-doc.ts';
import { traceOf } from '#platform/http/tracing.ts';
import { BucketEventStore } from '#platform/postgres/bucket-event-store.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { digestOfKey, isDigestOfOne } from '#domain/keys/api-key.ts';
import { apiKeyBucket } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import { jobIdField, sourceField } from '../wire/fields.ts';

const outcomesSchema = z
  .object({
    jobs: z
      .array(
        z.object({
          key: sourceField.describe('The key of the object.'),
          version: z
            .string()
            .describe('The version of the object, or else its ETag.')
            .meta({ examples: ['5d41402abc4b2a76'] }),
          outcome: z
            .enum(['submitted', 'existing', 'duplicate', 'ignored', 'refused'])
            .describe('Whether a job was made, found, or not made.'),
          job_id: jobIdField.nullable().describe('The job; null for an event that was ignored or refused.'),
          reason: z
            .string()
            .nullable()
            .describe('Why it was ignored or refused; null otherwise.')
            .meta({ examples: [null] }),
        }),
      )
      .describe('One for each event, in their order.'),
  })
  .register(answers, { id: 'BucketEventOutcomes' });
const notificationSchema = z.looseObject({}).register(bodies, { id: 'BucketNotification' });

const doc: RouteDoc = {
  tag: 'Uploads',
  operationId: 'receiveBucketEvents',
  right: 'submit',
  subject: 'everything',
  summary: 'Receive events of the source bucket',
  description:
    'A notification of S3 (`Records`), one event of Amazon EventBridge, or either in an envelope of Amazon SNS (also as `text/plain`). Each object that was created is submitted by the first of `EVENT_RULES` that matches its key, once per version; a new version of a key makes its job again, unless the rule keeps the first. `Authorization: Bearer` with `EVENTS_TOKEN`, or `Basic` with it as password, is accepted in place of an API key. A subscription of SNS is confirmed by a person: its address is in the log. After a 5xx the sender repeats the notification.',
  credential: 'api_key',
  body: {
    schema: notificationSchema,
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
  answers: { 200: { description: 'What became of each event, in their order.', schemas: [outcomesSchema] } },
  problems: ['rate_limited', 'not_configured', 'busy'],
};

type EventRouteDependencies = ApiDependencies & { readonly guards: Guards };

/** `POST /api/events/s3`; resolves once it is there, before other methods are refused. */
export async function addBucketEventRoutes(app: FastifyInstance, dependencies: EventRouteDependencies): Promise<void> {
  await app.register(async (scope) => {
    addJsonBody(scope, ['application/json', 'text/plain']);
    addRoute(scope, dependencies);
  });
}

function addRoute(app: FastifyInstance, dependencies: EventRouteDependencies): void {
  const { config, guards, log, database } = dependencies;
  const { eventRules: rules, source } = config;
  const tokens = config.eventsTokens.map(digestOfKey);
  const bucketEvents = new BucketEventStore(database);
  const sourceBucket = source.s3 === undefined ? null : source.bucket;
  const senderOf = async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    if (hasToken(request, tokens)) return 'token';
    try {
      await guards.authenticated(request, reply);
      return apiKeyBucket(request);
    } catch (error) {
      if (!(error instanceof KnownProblem) || error.code !== 'unauthorized') throw error;
      // SNS sends the password of its address only after a challenge.
      reply.header('www-authenticate', 'X-API-Key, Basic realm="events"');
      throw new KnownProblem('unauthorized', refusal);
    }
  };
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) =>
    guards.spendEvents(await senderOf(request, reply), reply);

  app.post('/api/events/s3', { onRequest, config: { doc } }, async (request) => {
    if (rules.length === 0)
      throw new KnownProblem(
        'not_configured',
        'The operator sets EVENT_RULES, which say what becomes of which object.',
      );
    const read = readNotification(request.body);
    if ('faults' in read) throw new KnownProblem('invalid_request', undefined, { faults: read.faults });
    if ('subscription' in read) {
      const { topic, confirmUrl } = read.subscription;
      log.warn({ topic, confirm_url: confirmUrl }, 'SNS subscription waits for its confirmation');
      return { jobs: [] } satisfies z.output<typeof outcomesSchema>;
    }
    const submitting = { ...dependencies, bucketEvents, rules, sourceBucket };
    const outcomes = await submitBucketEvents(submitting, read.events, traceOf(request));
    for (const { outcome, jobId } of outcomes)
      if (outcome === 'submitted' && jobId !== null) audit(log, request, { what: 'job submitted', jobId });
    const answer: z.output<typeof outcomesSchema> = {
      jobs: outcomes.map(({ jobId, ...rest }) => ({ ...rest, job_id: jobId })),
    };
    return answer;
  });
}

const refusal =
  'Send one of the API keys of this service in the header X-API-Key, or EVENTS_TOKEN in Authorization, as Bearer or as ' +
  'the password of Basic; it is missing or another one.';

/** Whether `Authorization` has one of the tokens, by their digests: as `Bearer`, or as the password of `Basic`, which is all SNS has. */
function hasToken(request: FastifyRequest, tokens: readonly Buffer[]): boolean {
  const [, scheme = '', given = ''] = /^(Bearer|Basic) (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (given === '') return false;
  if (scheme.toLowerCase() === 'bearer') return isDigestOfOne(tokens, digestOfKey(given));
  const [, password] = /^[^:]*:(.+)$/s.exec(Buffer.from(given, 'base64').toString()) ?? [];
  return password !== undefined && isDigestOfOne(tokens, digestOfKey(password));
}
