import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { openGateway } from './gateway.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

const killed = { type: 'application/json', body: '{"killed":1}' };

/** A gateway before a service that answers by `handler`. */
async function open(handler: Handler) {
  const service = createServer(handler).listen(0, '127.0.0.1');
  await once(service, 'listening');
  const gateway = await openGateway(0);
  onTestFinished(async () => {
    await gateway.close();
    service.closeAllConnections();
    service.close();
  });
  const { port } = service.address() as AddressInfo;
  const forward = () => gateway.forwardTo({ port, routes: { 'POST /demo/kill': async () => killed } });
  return { url: gateway.baseUrl, gateway, service, forward };
}

it('requests reach the service with their method, headers and body, and its answers come back whole', async () => {
  const { url, forward } = await open(async (asked, response) => {
    const { length } = await buffer(asked);
    response.writeHead(206, { 'content-range': 'bytes 0-2/9', 'x-asked': `${asked.method} ${asked.url}` });
    response.end(`${String(asked.headers['x-api-key'])} ${length}`);
  });
  expect((await fetch(url)).status).toBe(503);
  forward();
  const body = Buffer.alloc(3_000_000, 1);
  const answer = await fetch(`${url}/a%2Fb?c=1`, { method: 'PUT', headers: { 'x-api-key': 'key' }, body });
  expect([answer.status, answer.headers.get('content-range'), answer.headers.get('x-asked')]).toEqual([
    206,
    'bytes 0-2/9',
    'PUT /a%2Fb?c=1',
  ]);
  expect(await answer.text()).toBe('key 3000000');
});

it('only a page of the demo itself can kill a worker', async () => {
  const { url, forward } = await open((_asked, response) => response.writeHead(404).end());
  forward();
  const post = (headers: Record<string, string>) => fetch(`${url}/demo/kill`, { method: 'POST', headers });
  expect(await (await post({ 'x-demo': '1' })).json()).toEqual({ killed: 1 });
  expect((await post({})).status).toBe(403);
  // `fetch` sets the host itself.
  const named = request(`${url}/demo/kill`, { method: 'POST', headers: { host: 'evil.example:80', 'x-demo': '1' } });
  const [answer] = (await once(named.end(), 'response')) as [IncomingMessage];
  expect([answer.statusCode, await text(answer)]).toEqual([403, '']);
});
