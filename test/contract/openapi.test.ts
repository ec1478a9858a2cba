import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerSchemas, type AnswerName } from '../../api/wire/schemas.ts';
import { webhookBody } from '#domain/webhooks/event-body.ts';
import { parseSubmission } from '#domain/jobs/submission.ts';
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
function check(name: AnswerName, value: unknown): void {
  const shape: unknown = answerSchemas[name].parse(value);
  expect(shape).toEqual(value);
}

describe('`GET /openapi.json`', () => {
  it('C4.18: the OpenAPI document lists every route', async () => {
    const { json, status } = await api.raw('/openapi.json');
    expect([status, json.openapi]).toEqual([200, '3.1.0']);
    const paths = json.paths as Record<string, object>;
    const routes = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(new Set(routes)).toEqual(
      new Set([
        'GET /healthz',
        'GET /readyz',
        'GET /metrics',
        'POST /api/jobs',
        'GET /api/jobs',
        'GET /api/jobs/{id}',
        'POST /api/jobs/{id}/retry',
        'POST /api/jobs/{id}/cancel',
        'GET /api/jobs/{id}/events',
        'GET /api/jobs/{id}/callbacks',
        'POST /api/jobs/{id}/callbacks/redeliver',
        'GET /stream/{hash}/{path}',
        'GET /thumb/{sig}/{encoded_key}',
        'GET /api/key/{hash}',
        'GET /api/key/{hash}/clearkey',
        'POST /api/key/{hash}/clearkey',
      ]),
    );
  });

  it('C4.18: the OpenAPI document has no dangling reference and describes every path parameter', async () => {
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

  it('C4.71: each operation of the OpenAPI document has an id of its own', async () => {
    const { paths, webhooks } = (await api.raw('/openapi.json')).json;
    const items = Object.values<Record<string, { operationId: string }>>({ ...paths, ...webhooks });
    const ids = items.flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
    expect(ids).toContain('submitJob');
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('C4.71: the OpenAPI document describes the webhook, and the body of a webhook has exactly its fields', async () => {
    const { webhooks } = (await api.raw('/openapi.json')).json;
    const { schema } = webhooks.jobEnded.post.requestBody.content['application/json'];
    expect(schema).toEqual({ $ref: '#/components/schemas/WebhookEvent' });
    const { json } = await api.submit({ type: 'video:full', hash: 'w', source: 'video.mp4' });
    const job = await api.fail(json.job_id, partlyFailedResults());
    const event = { eventId: randomUUID(), occurredAt: new Date() };
    check('WebhookEvent', JSON.parse(webhookBody(job, event)));
  });

  it('C4.18: the example body of the OpenAPI document is accepted', async () => {
    const { json } = await api.raw('/openapi.json');
    const { example } = json.paths['/api/jobs'].post.requestBody.content['application/json'];
    expect(parseSubmission(example).faults).toBeUndefined();
  });

  it('C2.8, C9.2, C9.3: the OpenAPI document allows additional fields in answers and none in request bodies', async () => {
    const { CreateJobRequest, Job } = (await api.raw('/openapi.json')).json.components.schemas;
    expect(CreateJobRequest.oneOf).toHaveLength(5);
    for (const shape of CreateJobRequest.oneOf) expect(shape.additionalProperties).toBe(false);
    expect(Job.additionalProperties).toBeUndefined();
  });

  it('C4.18, C2.43, C2.46: the answers have exactly the fields of their schemas', async () => {
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
