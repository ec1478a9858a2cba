import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { namedSchemas } from '../../api/openapi/components.ts';
import { webhookBody } from '#domain/webhooks/event-body.ts';
import { parseSubmission } from '#domain/jobs/submission.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import { promisedBy, recorded } from '../../scripts/generate-version-1.ts';
import { checkout } from '../../testing/checkout.ts';
import { readSources } from '../../testing/imports.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { partlyFailedResults, thumbnailResults } from './results.ts';

// `GET /openapi.json`.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
  await api.putSource('video.mp4', 'x');
});
afterAll(() => api.close());

/** Fails when `value` lacks a field of the schema or has another one. */
function check(name: string, value: unknown): void {
  const shape: unknown = namedSchemas(answers)[name]?.parse(value);
  expect(shape).toEqual(value);
}

interface Media {
  readonly schema: { readonly $ref?: string; readonly anyOf?: readonly { readonly $ref: string }[] };
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
}

/** The media types within a part of the document that have examples. */
function mediaIn(part: unknown): Media[] {
  if (typeof part !== 'object' || part === null) return [];
  if ('schema' in part && 'examples' in part) return [part as Media];
  return Object.values(part).flatMap(mediaIn);
}

interface WithBody {
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: { $ref: string }; readonly example: unknown } };
  };
}

describe('`GET /openapi.json`', () => {
  // `make generate` adds what is new to the record; what has changed or is gone breaks version 1.
  it('C28.6: every route and field that version 1 has had is there, and each that is there is recorded', async () => {
    expect(promisedBy((await api.raw('/openapi.json')).text)).toEqual(await recorded());
  });

  it('C28.1: the OpenAPI document lists every route that the code adds below `/api`', async () => {
    const { json, status } = await api.raw('/openapi.json');
    expect([status, json.openapi]).toEqual([200, '3.1.0']);
    const sources = readSources(checkout).filter(({ path }) => /^(?:api|delivery)\/(?!.*\.test\.)/.test(path));
    const added = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:app|scope)\.(get|post|put|patch|delete)(?:<[^(]*>)?\(\s*'(\/api\/[^']+)'/g)].map(
        ([, method = '', url = '']) => ({ path, method, url: url.replaceAll(/:(\w+)/g, '{$1}') }),
      ),
    );
    expect(added.length).toBeGreaterThan(30);
    // The console's own, which this server does not have.
    const missing = added.filter(
      ({ url, method }) => json.paths[url]?.[method] === undefined && !url.includes('/console/'),
    );
    expect(missing.map(({ path, method, url }) => `${path}: add a doc to ${method} ${url}`)).toEqual([]);
  });

  it('C28.1: the OpenAPI document has no dangling reference and describes every path parameter', async () => {
    const { json, text } = await api.raw('/openapi.json');
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(references.length).toBeGreaterThan(10);
    for (const name of references) expect(Object.keys(json.components.schemas)).toContain(name);
    for (const [path, item] of Object.entries<Record<string, { parameters: { name: string; in: string }[] }>>(
      json.paths,
    ))
      for (const { parameters } of Object.values(item)) {
        const named = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
        expect(named).toEqual(path.match(/\{\w+\}/g) ?? []);
      }
  });

  it('C28.2: each operation of the OpenAPI document has an id of its own', async () => {
    const { paths, webhooks } = (await api.raw('/openapi.json')).json;
    const items = Object.values<Record<string, { operationId: string }>>({ ...paths, ...webhooks });
    const ids = items.flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
    expect(ids).toContain('submitJob');
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('C28.2: the OpenAPI document describes the webhook, and the body of a webhook has exactly its fields', async () => {
    const { webhooks } = (await api.raw('/openapi.json')).json;
    const { schema } = webhooks.jobEnded.post.requestBody.content['application/json'];
    expect(schema).toEqual({ $ref: '#/components/schemas/WebhookEvent' });
    const { json } = await api.submit({ type: 'video:full', hash: 'w', source: 'video.mp4' });
    const job = await api.fail(json.job_id, partlyFailedResults());
    const event = { eventId: randomUUID(), occurredAt: new Date() };
    check('WebhookEvent', JSON.parse(webhookBody(job, event)));
  });

  it('C28.2: every object of the OpenAPI document is a named component, and a union is told apart by `type`', async () => {
    const { schemas } = (await api.raw('/openapi.json')).json.components;
    const inline = Object.entries<object>(schemas).flatMap(([name, schema]) =>
      Object.values(schema).some((inner) => JSON.stringify(inner).includes('"properties":{')) ? [name] : [],
    );
    expect(inline).toEqual([]);
    for (const name of ['Job', 'JobCompleted', 'WebhookEvent', 'CreateJobRequest'])
      expect(schemas[name].discriminator).toMatchObject({
        propertyName: 'type',
        mapping: { 'video:full': `#/components/schemas/VideoFull${name}` },
      });
  });

  it('C28.1: every JSON answer and problem of the OpenAPI document has examples, which have its shape', async () => {
    const { paths, webhooks } = (await api.raw('/openapi.json')).json;
    const documented = mediaIn([paths, webhooks]);
    expect(documented.length).toBeGreaterThan(40);
    for (const { schema, examples } of documented) {
      const names = (schema.anyOf ?? [schema]).map(({ $ref = '' }) => $ref.split('/').at(-1) ?? '');
      expect(Object.keys(examples).length).toBeGreaterThan(0);
      for (const { value } of Object.values(examples)) {
        const fitting = names.find((name) => namedSchemas(answers)[name]?.safeParse(value).success);
        expect(fitting, JSON.stringify(value)).toBeDefined();
        check(fitting ?? '', value);
      }
    }
  });

  it('C28.1: the example of each body of the OpenAPI document is accepted', async () => {
    const { json } = await api.raw('/openapi.json');
    const { example: submission } = json.paths['/api/jobs'].post.requestBody.content['application/json'];
    expect(parseSubmission(submission).faults).toBeUndefined();
    const operations = Object.values<Record<string, WithBody>>(json.paths).flatMap((item) => Object.values(item));
    const contents = operations.flatMap(({ requestBody }) => requestBody?.content['application/json'] ?? []);
    expect(contents.length).toBeGreaterThan(12);
    for (const { schema, example } of contents) {
      const shape = namedSchemas(bodies)[schema.$ref.split('/').at(-1) ?? ''];
      expect(shape?.safeParse(example).error, schema.$ref).toBeUndefined();
    }
  });

  it('C11.9, C28.7: the OpenAPI document allows additional fields in answers and none in request bodies', async () => {
    const { schemas } = (await api.raw('/openapi.json')).json.components;
    const isClosed = ({ $ref }: { $ref: string }) => schemas[$ref.split('/').at(-1) ?? ''].additionalProperties;
    expect(schemas.CreateJobRequest.oneOf.map(isClosed)).toEqual(Array(5).fill(false));
    expect(schemas.Job.oneOf.map(isClosed)).toEqual(Array(5).fill(undefined));
    // The fields of the first version; none is ever added.
    for (const { $ref } of schemas.CreateJobRequest.oneOf as { $ref: string }[])
      expect(new Set(Object.keys(schemas[$ref.split('/').at(-1) ?? ''].properties))).toEqual(
        new Set(['type', 'hash', 'source', 'options', 'callback_url']),
      );
  });

  it('C28.1, C15.9, C15.12: the answers have exactly the fields of their schemas', async () => {
    const full = await api.submit({
      type: 'video:full',
      hash: 'f',
      source: 'video.mp4',
      callback_url: 'https://a.test',
    });
    check('JobCreated', full.json);
    await api.fail(full.json.job_id, partlyFailedResults());
    check('Job', (await api.call(`/api/jobs/${full.json.job_id}`)).json);
    check('Callbacks', (await api.call(`/api/jobs/${full.json.job_id}/callbacks`)).json);
    check('Retry', (await api.call(`/api/jobs/${full.json.job_id}/retry`, { method: 'POST' })).json);
    const submission = { type: 'image:thumbnail', hash: 'i', source: 'a.jpg' };
    const image = await api.submit(submission);
    check('Job', (await api.submit(submission)).json);
    await api.complete(image.json.job_id, thumbnailResults);
    check('JobCompleted', (await api.submit(submission)).json);
    check('JobList', (await api.call('/api/jobs')).json);
    check('Problem', (await api.submit({})).json);
    check('Problem', (await api.call('/nowhere')).json);
  });
});
