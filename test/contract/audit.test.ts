import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openUploadBucket } from '#platform/storage/upload-bucket.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';

// What an operator finds in the log: who changed a job, and the trace of a request that failed.

interface Line {
  readonly msg: string;
  readonly [field: string]: unknown;
}

const lines: Line[] = [];
const log = createLogger({
  level: 'info',
  name: 'test',
  destination: { write: (line: string) => void lines.push(JSON.parse(line) as Line) },
});

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi({}, { log });
});
afterAll(() => api.close());
beforeEach(() => {
  lines.length = 0;
});

const callbackUrl = 'https://example.com/hook';
const post = (path: string) => api.call(path, { method: 'POST' });

/** The lines about changes of jobs. */
const changes = () =>
  lines
    .filter(({ msg }) => /^(?:job|webhook) /.test(msg))
    .map(({ msg, job_id, key_id, client_address, route, trace_id }) => ({
      msg,
      job_id,
      key_id,
      client_address,
      route,
      trace_id,
    }));

const keyId = createHash('sha256').update(apiKey).digest('hex').slice(0, 8);

const line = (msg: string, job_id: string, path: string, { headers }: { headers: Headers }) => ({
  msg,
  job_id,
  key_id: keyId,
  client_address: '127.0.0.1',
  route: `POST ${path}`,
  trace_id: headers.get('x-trace-id'),
});

describe('the audit log', () => {
  it('each new job of a batch is a line, an equal submission makes no line, and what could not be queued is logged', async () => {
    const known = { type: 'image:thumbnail', hash: 'known', source: 'a.jpg' };
    await api.submit(known);
    lines.length = 0;
    const send = (...hashes: readonly string[]) =>
      api.call('/api/jobs/batch', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jobs: [known, ...hashes.map((hash) => ({ ...known, hash })), { type: 'x' }] }),
      });
    const answer = await send('new-1', 'new-2');
    const ids = answer.json.jobs.slice(1, 3).map(({ job }: { job: { job_id: string } }) => job.job_id) as string[];
    expect(changes()).toEqual(ids.map((id) => line('job submitted', id, '/api/jobs/batch', answer)));
    const add = api.d.queue.add.bind(api.d.queue);
    api.d.queue.add = () => Promise.reject(new Error('the queue is away'));
    await send('new-3');
    api.d.queue.add = add;
    const failures = lines.filter(({ msg }) => msg === 'submission of a batch failed');
    expect(JSON.stringify(failures)).toContain('the queue is away');
  });

  it('each change of a job is one line with key, address, route, job and trace', async () => {
    const submission = { type: 'image:thumbnail', hash: 'audited', source: 'a.jpg', callback_url: callbackUrl };
    const submitted = await api.submit(submission);
    const id = submitted.json.job_id as string;
    await api.submit(submission);
    await api.fail(id);
    const retried = await post(`/api/jobs/${id}/retry`);
    const retryId = retried.json.jobs[0].job_id as string;
    const cancelled = await post(`/api/jobs/${retryId}/cancel`);
    const rerun = await post(`/api/jobs/${id}/rerun`);
    await api.d.database.pool.query('update webhook_events set next_attempt_at = null');
    const redelivered = await post(`/api/jobs/${id}/callbacks/redeliver`);
    expect(changes()).toEqual([
      line('job submitted', id, '/api/jobs', submitted),
      line('job retried', retryId, '/api/jobs/:id/retry', retried),
      line('job cancelled', retryId, '/api/jobs/:id/cancel', cancelled),
      line('job made again', rerun.json.job_id as string, '/api/jobs/:id/rerun', rerun),
      line('webhook redelivered', id, '/api/jobs/:id/callbacks/redeliver', redelivered),
    ]);
    expect(JSON.stringify(lines)).not.toContain(apiKey);
  });

  it('each change of an upload or an import is one line, and a repetition has none', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'reelwright-audit-'));
    const settings = { publicEndpoint: undefined, prefix: 'uploads/', expiryMs: 3_600_000, openMax: 9 };
    const uploads = openUploadBucket({ store: { bucket: `file:${dir}`, dir }, ...settings });
    const imports = { hosts: ['a.example'], allowedCidrs: [], bytesMax: 100, concurrency: 1 };
    const { d } = api;
    const bringing = await startApi({}, { ...d, uploads, config: { ...d.config, imports } });
    const send = (path: string, body?: object, method = 'POST') =>
      bringing.call(path, {
        method,
        ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      });
    try {
      const file = '\0\0\0\x18ftypmp42';
      const [whole, other] = [1, 2].map(() => send('/api/uploads', { name: 'a.mp4', size: file.length }));
      const [{ json: begun }, { json: dropped }] = [await whole!, await other!];
      await fetch(begun.parts[0].url as string, { method: 'PUT', body: file });
      const imported = await send('/api/imports', { url: 'https://a.example/b.mp4' });
      const expected = [
        ['upload begun', begun.upload_id, keyId],
        ['upload begun', dropped.upload_id, keyId],
        ['upload completed', begun.upload_id, keyId],
        ['upload deleted', dropped.upload_id, keyId],
        ['import begun', imported.json.import_id, keyId],
        ['import cancelled', imported.json.import_id, keyId],
      ];
      for (const time of ['once', 'again']) {
        await send(`/api/uploads/${begun.upload_id}/complete`);
        await send(`/api/uploads/${dropped.upload_id}`, undefined, 'DELETE');
        await send(`/api/imports/${imported.json.import_id}`, undefined, 'DELETE');
        const found = lines
          .filter(({ msg }) => /^(?:upload|import) /.test(msg))
          .map(({ msg, upload_id, import_id, key_id }) => [msg, upload_id ?? import_id, key_id]);
        expect(found.map(String).toSorted(), time).toEqual(expected.map(String).toSorted());
      }
    } finally {
      await bringing.app.close();
      await uploads.close();
      await rm(dir, { recursive: true, force: true });
    }
  });

  it('a refused request changes nothing and has no line', async () => {
    await api.submit({ type: 'image:thumbnail' });
    await api.raw('/api/jobs');
    expect(changes()).toEqual([]);
  });

  it('a request that failed is logged with the trace_id of its answer', async () => {
    const find = api.d.jobs.findShown.bind(api.d.jobs);
    api.d.jobs.findShown = () => Promise.reject(new Error('planted'));
    const { status, json } = await api.call('/api/jobs/00000000-0000-4000-8000-000000000000');
    api.d.jobs.findShown = find;
    expect(status).toBe(500);
    expect(lines.filter(({ msg }) => msg === 'request failed')).toMatchObject([{ trace_id: json.trace_id }]);
  });

  it('C25.17, C22.25: an answer to what is no HTTP request carries X-Trace-ID and the same trace_id', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    socket.end('not HTTP\r\n\r\n');
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    const [, traceId] = /^X-Trace-ID: ([0-9a-f]{32})$/m.exec(head.replaceAll('\r', '')) ?? [];
    expect(JSON.parse(body)).toMatchObject({ status: 400, trace_id: traceId, code: 'invalid_request' });
    expect(traceId).toBeDefined();
  });
});
