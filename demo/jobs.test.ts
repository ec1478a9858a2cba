import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { waitForJob } from './jobs.ts';

it('a request that fails does not end the wait for a job', async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    if (requests === 1) response.destroy();
    else response.end(JSON.stringify({ job_id: '1', status: 'completed', results: { key: 'x' } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api = { baseUrl, apiKey: 'key', signal: new AbortController().signal };
  expect(await waitForJob('1', api)).toMatchObject({ status: 'completed' });
  expect(requests).toBe(2);
});
