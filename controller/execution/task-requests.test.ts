import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { reportHandler, reportSecretOf, reportTokenOf } from './reports.ts';
import { type TaskAnswer, TaskEndpoint, taskRequestHandler, tasksPath, taskTokenOf } from './task-requests.ts';

// What runner pods send to the worker's listener.

const webhookSecret = 'a webhook secret of the tests';
const secret = reportSecretOf(webhookSecret);
const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const other = '00000000-0000-4000-8000-000000000001';

interface Sent {
  readonly path: string;
  readonly token?: string;
  readonly method?: string;
  readonly body: string;
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Sends a request to a listener of its own. */
async function send(listener: RequestListener, { path, token, method = 'POST', body }: Sent) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { connection: 'keep-alive', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  const sent = request({ port, host: '127.0.0.1', path, method, headers, agent: false });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

describe('the request of a batch’s runner for a task', () => {
  const token = taskTokenOf(id, secret);
  const valid = { path: tasksPath(id), token, body: JSON.stringify({ ended: null, is_last: false }) };
  const ask = (answer: (() => Promise<TaskAnswer>) | null, more: Partial<Sent> = {}) => {
    const endpoint = new TaskEndpoint();
    const asked = vi.fn<(batchId: string, wanted: object) => Promise<TaskAnswer>>(answer ?? undefined);
    if (answer !== null) endpoint.server = { answer: asked };
    const handler = taskRequestHandler({ endpoint, webhookSecret });
    return send((given, response) => void handler(given, response), { ...valid, ...more }).then((got) => ({
      ...got,
      asked: asked.mock.calls,
    }));
  };

  it('a runner gets a task, or the answer to wait or to end', async () => {
    const task = { job_id: other } as Extract<TaskAnswer, object>['task'];
    const answered = await ask(async () => ({ task }));
    const headers = { 'cache-control': 'no-store', connection: 'keep-alive' };
    expect(answered).toMatchObject({ status: 200, headers });
    expect([JSON.parse(answered.text), answered.asked]).toEqual([{ task }, [[id, { ended: null, is_last: false }]]]);
    expect(await ask(async () => 'wait')).toMatchObject({ status: 204, text: '' });
    expect(await ask(async () => 'end')).toMatchObject({ status: 410, text: '' });
  });

  it('a runner that reaches no leader, or one whose database is away, asks again by another connection', async () => {
    const closed = { status: 503, headers: { connection: 'close' } };
    expect(await ask(null)).toMatchObject(closed);
    expect(await ask(() => Promise.reject(new Error('the database is away')))).toMatchObject(closed);
  });

  it.each<[string, number, Partial<Sent>]>([
    ['another method', 405, { method: 'PUT' }],
    ['no token', 403, { token: undefined } as unknown as Partial<Sent>],
    ['the token of another batch', 403, { token: taskTokenOf(other, secret) }],
    ['the token of another secret', 403, { token: taskTokenOf(id, reportSecretOf('another')) }],
    ['the token of a report', 403, { token: reportTokenOf({ jobId: id, attempt: 1 }, secret) }],
    ['another path', 403, { path: `${tasksPath(id)}/` }],
    ['what is no request', 400, { body: '{"ended":null}' }],
    ['more than 16 KiB', 400, { body: `{"ended":null,"is_last":false}${' '.repeat(16 * 1024)}` }],
  ])('a request with %s is refused with %i', async (_, status, more) => {
    expect(await ask(async () => 'wait', more)).toMatchObject({ status, asked: [] });
  });
});

describe('the report of a runner', () => {
  const token = reportTokenOf({ jobId: id, attempt: 2 }, secret);
  const path = `/reports/${id}/2`;
  const post = async (body: object | string, more: Partial<Sent> = {}) => {
    const report = vi.fn<(progress: object) => Promise<void>>(async () => undefined);
    const handler = reportHandler({ jobs: { report }, webhookSecret });
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const listener: RequestListener = (given, response) => void handler(given, response);
    const { status } = await send(listener, { path, token, body: text, ...more });
    return [status, ...report.mock.calls.flat()];
  };

  it('a report of phase or progress changes the job, and any other is taken and changes nothing', async () => {
    const of = { jobId: id, attempt: 2 };
    const progress = { type: 'progress', phase: 'encoding', fraction: 0.5 };
    expect(await post(progress)).toEqual([204, { ...of, phase: 'encoding', progress: 42 }]);
    const phase = { type: 'phase', phase: 'packaging' };
    expect(await post(phase)).toEqual([204, { ...of, phase: 'packaging', progress: 80 }]);
    expect(await post({ type: 'result', error: null, steps: [] })).toEqual([204]);
  });

  it.each<[string, number, object | string, Partial<Sent>]>([
    ['another method', 405, {}, { method: 'PUT' }],
    ['the token of another attempt', 403, {}, { path: `/reports/${id}/1` }],
    ['the token of another job', 403, {}, { path: `/reports/${other}/2` }],
    ['what is no report', 400, { type: 'progress' }, {}],
    [
      'more than 16 KiB',
      400,
      `${JSON.stringify({ type: 'result', error: null, steps: [] })}${' '.repeat(16 * 1024)}`,
      {},
    ],
  ])('a report with %s is refused with %i', async (_, status, body, more) => {
    expect(await post(body, more)).toEqual([status]);
  });
});
