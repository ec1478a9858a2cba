import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';

it('cancel --all cancels a job once that begins between the lists of waiting and of running jobs', async () => {
  const cancelled: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
    const job = { job_id: 'a', status: searchParams.get('status') ?? 'cancelled', error: null };
    if (request.method === 'POST') cancelled.push(pathname);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(request.method === 'POST' ? job : { jobs: [job], next_cursor: null }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const env = {
    REELWRIGHT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    REELWRIGHT_API_KEY: 'k',
  };
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  try {
    const host = { env, stdin: Readable.from([]), stdout, stderr };
    await runCommandLine(['cancel', '--all', '--yes', '--json'], host, new AbortController().signal);
  } finally {
    server.closeAllConnections();
    server.close();
  }
  expect(await text(stdout.end())).toBe('{"cancelled":1,"failed":[]}\n');
  expect(cancelled).toEqual(['/api/jobs/a/cancel']);
});
