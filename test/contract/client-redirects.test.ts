import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Reelwright, type ReelwrightError } from '../../clients/typescript/src/index.ts';
import { type CommandLine, openCommandLine } from '../../testing/command-line.ts';

// A base URL whose server redirects: a login proxy, a parked domain, http for https. The clients in Python and of the
// console have the same in clients/python/tests/test_client.py and web/console/api.test.ts.

const apiKey = 'a-key-that-must-stay';
let elsewhere: Server;
let proxy: Server;
let cli: CommandLine;
let [proxyUrl, elsewhereUrl] = ['', ''];
/** The requests that came to the other origin, with every header. */
let leaked: string[] = [];

beforeAll(async () => {
  elsewhere = createServer((request, response) => {
    leaked.push(`${request.method} ${request.url} ${request.rawHeaders.join(' ')}`);
    response.end('{}');
  });
  proxy = createServer((request, response) => {
    request.resume();
    const status = Number(new URL(request.url ?? '', 'http://proxy').searchParams.get('limit') ?? 302);
    const location = `${elsewhereUrl}/login?from=${encodeURIComponent(request.url ?? '')}`;
    response.writeHead(status < 301 ? 307 : status, { location }).end();
  });
  for (const server of [elsewhere, proxy]) await once(server.listen(0, '127.0.0.1'), 'listening');
  [proxyUrl, elsewhereUrl] = [addressOf(proxy), addressOf(elsewhere)];
  cli = await openCommandLine({ REELWRIGHT_URL: proxyUrl, REELWRIGHT_API_KEY: apiKey });
});
beforeEach(() => {
  leaked = [];
});
afterAll(async () => {
  await cli.close();
  for (const server of [elsewhere, proxy]) {
    server.closeAllConnections();
    server.close();
  }
});

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const calls: Readonly<Record<string, (client: Reelwright) => Promise<unknown>>> = {
  submit: (client) => client.submit({ type: 'video:cover', hash: 'a', source: 'a.mp4' }),
  job: (client) => client.job('1'),
  'waitFor, by its stream': (client) => client.waitFor('1', { timeoutSec: 20 }),
  'upload, at its begin': (client) => client.upload(new Blob(['bytes']), { name: 'a.mp4' }),
  'deleteUpload, whose answer has no body': (client) => client.deleteUpload('1'),
  'jobs, answered 301': (client) => client.jobs({ limit: 301 }).next(),
  'jobs, answered 308': (client) => client.jobs({ limit: 308 }).next(),
  'a route by its path': (client) => client.http.GET('/readyz'),
};

it.each(Object.entries(calls))('C28.9: no API key follows a redirect of %s', async (_, call) => {
  const error = await call(new Reelwright({ baseUrl: proxyUrl, apiKey })).then(
    () => null,
    (thrown: ReelwrightError) => thrown,
  );
  expect(leaked).toEqual([]);
  expect(error).toMatchObject({ code: 'unexpected_answer', status: expect.any(Number) });
  expect(error?.detail).toContain(`${proxyUrl} redirects to ${elsewhereUrl}/login; the API key is not sent there`);
});

it('C28.9: the command line names where the redirect leads, and what to correct', async () => {
  const { code, stderr } = await cli.run(['jobs']);
  expect([leaked, code]).toEqual([[], 3]);
  expect(stderr).toContain(`redirects to ${elsewhereUrl}/login`);
  expect(stderr).toContain('set baseUrl');
});
