import { z } from 'zod';
import type { RequestErrorCode } from '#domain/errors.ts';
import { requestErrors } from '#domain/errors.ts';
import { statusOfProblem } from '#platform/http/problem-response.ts';
import type { DocumentedRoute, RouteDoc } from '#platform/http/route-doc.ts';
import { type Components, componentSchemas, nameOf, reference } from './components.ts';
import { webhookEventSchema } from '../wire/job-schemas.ts';
import { exampleOf } from './example-of.ts';
import { examplesOf, problemExamples } from './examples.ts';

// The OpenAPI 3.1 document, made from the routes and from the zod schemas of requests and answers.

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of `routes`. */
export function openApiDocument(routes: readonly DocumentedRoute[]): Json {
  const schemas = componentSchemas();
  const paths: Record<string, Json> = {};
  for (const { method, url, doc } of routes) {
    const path = pathOf(url);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(path, doc, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Reelwright',
      version: '1',
      description:
        'Media processing and delivery. Refused requests are answered with RFC 9457 problem documents; fields are only ever added.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    webhooks: { jobEnded: { post: webhookOperation(schemas) } },
    components: {
      schemas,
      securitySchemes: {
        api_key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'reelwright_session',
          description: 'A browser session (`POST /api/sessions`), with the header `X-Reelwright-Session: 1`.',
        },
        playback_token: { type: 'http', scheme: 'bearer', description: 'A playback token, signed by the application.' },
      },
    },
  };
}

/** `/stream/*` → `/stream/{hash}/{path}`: OpenAPI has no parameter for several segments. */
function pathOf(url: string): string {
  if (url === '/s/*') return '/s/{ticket}/{hash}/{path}';
  return url.replace('/stream/*', '/stream/{hash}/{path}').replaceAll(/:(\w+)/g, '{$1}');
}

function operationOf(path: string, doc: RouteDoc, schemas: Components): Json {
  return {
    tags: [doc.tag],
    operationId: doc.operationId,
    summary: doc.summary,
    ...(doc.description === undefined ? {} : { description: doc.description }),
    security: securityOf(doc),
    parameters: [...pathParameters(path, doc), ...queryParameters(doc), ...headerParameters(doc.headers ?? {})],
    ...(doc.body === undefined ? {} : { requestBody: requestBodyOf(doc.body, schemas) }),
    responses: { ...answersOf(doc, schemas), ...problemsOf(doc) },
  };
}

/** OpenAPI names roles in the place of scopes: the right of the API key or session. */
function securityOf(doc: RouteDoc): Json[] {
  if (doc.credential === 'api_key') {
    const alternatives = [doc.right, ...(doc.partRight === undefined ? [] : [doc.partRight])];
    return alternatives.flatMap((right) => {
      const roles = right === 'any' ? [] : [right];
      return [{ api_key: roles }, ...(doc.isForKeysAlone === true ? [] : [{ session: roles }])];
    });
  }
  return doc.credential === 'none' ? [] : [{ [doc.credential]: [] }];
}

function pathParameters(path: string, doc: RouteDoc): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: doc.path?.[name] ?? '',
    schema: { type: 'string' },
  }));
}

function queryParameters(doc: RouteDoc): Json[] {
  if (doc.query === undefined) return [];
  const { properties = {} } = z.toJSONSchema(doc.query, { io: 'output' });
  return Object.entries(properties as Record<string, Json>).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema,
  }));
}

function headerParameters(headers: Readonly<Record<string, string>>): Json[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
}

function requestBodyOf({ schema, isRequired, example }: NonNullable<RouteDoc['body']>, schemas: Components): Json {
  const shape = reference(nameOf(schema));
  const media = { schema: shape, example: example ?? exampleOf(shape, schemas) };
  return { required: isRequired, content: { 'application/json': media } };
}

const webhookHeaders = {
  'X-Signature': '`sha256=` and the hex HMAC-SHA256 of the body.',
  'webhook-id': 'The `event_id`.',
  'webhook-timestamp': 'Unix seconds of this attempt.',
  'webhook-signature': '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body` (Standard Webhooks).',
};

/** The operation by which the service posts to a `callback_url`. */
const webhookOperation = (schemas: Components) => ({
  operationId: 'onJobEnded',
  tags: ['Callbacks'],
  summary: 'Receive the end of a job',
  description:
    'Sent to the `callback_url` of a job that has completed or failed. Any 2xx within ten seconds acknowledges it; anything else is tried again, five times in all. The same event may come twice.',
  parameters: headerParameters(webhookHeaders),
  requestBody: { required: true, ...jsonContent([webhookEventSchema], schemas) },
  responses: { '2XX': { description: 'Received.' }, '410': { description: 'Send no further attempts.' } },
});

const limitHeaders = {
  'RateLimit-Policy': { schema: { type: 'string' }, description: 'draft-ietf-httpapi-ratelimit-headers-10' },
  RateLimit: { schema: { type: 'string' }, description: 'Requests left in the window, and seconds until it ends.' },
};

function answersOf(doc: RouteDoc, schemas: Components): Json {
  const answers = Object.entries(doc.answers).map(([status, { description, schemas: shapes = [], contentType }]) => {
    const headers = {
      'X-Trace-ID': { schema: { type: 'string' }, description: 'The id of the request in traces and logs.' },
      ...(doc.isLimited === true ? limitHeaders : {}),
    };
    return [status, { description, headers, ...contentOf(shapes, contentType, schemas) }];
  });
  return Object.fromEntries(answers) as Json;
}

/** JSON, another type, or what the caller asks for of both. */
function contentOf(shapes: readonly z.ZodType[], contentType: string | undefined, schemas: Components): Json {
  const schema = shapes.length > 0 ? { type: 'string' } : {};
  const other = contentType === undefined ? {} : { [contentType]: { schema } };
  const content = { ...(shapes.length > 0 ? jsonContent(shapes, schemas).content : {}), ...other };
  return Object.keys(content).length === 0 ? {} : { content };
}

/** A JSON body that matches one of these schemas. */
function jsonContent(answers: readonly z.ZodType[], schemas: Components): { content: Json } {
  const names = answers.map(nameOf);
  const shapes = names.map(reference);
  const media = {
    schema: shapes.length === 1 ? shapes[0] : { anyOf: shapes },
    examples: Object.assign({}, ...names.map((name) => examplesOf(name, schemas))) as Json,
  };
  return { content: { 'application/json': media } };
}

/** The problems that every route with a body may answer. */
const problemsOfBodies = ['invalid_json', 'invalid_request', 'body_too_large', 'unsupported_media_type'] as const;

/** One answer per status, with its codes. Every route may also answer 405 and 500. */
function problemsOf(doc: RouteDoc): Json {
  const codes = new Set<RequestErrorCode>([...doc.problems, 'method_not_allowed', 'internal_error']);
  if (doc.credential !== 'none') codes.add('unauthorized');
  if (doc.credential === 'api_key') codes.add('forbidden');
  if (doc.body !== undefined) for (const code of problemsOfBodies) codes.add(code);
  if (doc.isLimited === true) codes.add('rate_limited');
  const statuses = Map.groupBy(codes, (code) => String(statusOfProblem(code)));
  return Object.fromEntries(
    [...statuses].map(([status, ofStatus]) => {
      const description = ofStatus.map((code) => `\`${code}\`: ${requestErrors[code].publicMessage}`).join(' ');
      const media = { schema: reference('Problem'), examples: problemExamples(ofStatus) };
      return [status, { description, content: { 'application/problem+json': media } }];
    }),
  );
}
