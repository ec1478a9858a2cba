import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RequestTime } from './request-time.ts';

let server: ReturnType<typeof createServer>;
let expired: string[];
beforeEach(async () => {
  expired = [];
  const time = new RequestTime((_error, socket) => {
    expired.push('expired');
    socket.destroy();
  });
  server = createServer({ requestTimeout: 0 }, (request, response) => {
    time.watch(request, 100);
    if (request.url === '/part') time.allow(request, 1);
    request.resume().once('end', () => response.end('whole'));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => void server.close());

/** Sends a body of two bytes, the second one after 300 ms. */
async function sendSlowly(path: string): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const headers = { 'content-length': '2' };
  const sent = sendRequest({ host: '127.0.0.1', port, path, method: 'PUT', headers, agent: false });
  const { promise, resolve } = Promise.withResolvers<string>();
  sent.once('error', () => resolve('closed'));
  sent.once('response', (response) => response.setEncoding('utf8').once('data', resolve));
  sent.write('a');
  await sleep(300);
  sent.end('b');
  return promise;
}

it('a request that is not whole in its time is given up', async () => {
  expect([await sendSlowly('/'), expired]).toEqual(['closed', ['expired']]);
});

it('a route that takes large bodies gives a request the time that its size needs', async () => {
  expect([await sendSlowly('/part'), expired]).toEqual(['whole', []]);
});
