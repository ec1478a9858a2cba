import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CommandLine, openCommandLine } from '../../testing/command-line.ts';

// The command line against a server that is not what it seems: every text of its answers would steer a terminal.

const hostile = '\u001B]0;title\u0007\u009B2J\u202Edesrever';
const job = (id: string) => ({
  job_id: id,
  type: hostile,
  hash: hostile,
  status: 'processing',
  phase: hostile,
  progress: 10,
  eta: null,
  reason: null,
  results: null,
  error: null,
  attempt: 1,
  profile: hostile,
  created_at: '2026-11-27T00:00:00.000Z',
  updated_at: `2026-11-27T00:00:00.${id.padStart(3, '0')}Z`,
});
const refused = { status: 401, body: { code: 'unauthorized', detail: hostile, trace_id: hostile, status: 401 } };
const missing = { status: 404, body: { code: hostile, detail: hostile, trace_id: hostile, status: 404 } };

let server: Server;
let receiver = '';
let cli: CommandLine;
/** Questions of `listen` for what is new. */
let asked = 0;

function answerTo({ pathname, searchParams }: URL): { status: number; body: unknown } {
  if (pathname.startsWith('/api/jobs/lost')) return missing;
  if (pathname === '/api/jobs' && searchParams.get('status') === 'processing')
    return { status: 200, body: { jobs: [job('lost'), job('held')], next_cursor: null } };
  if (pathname === '/api/jobs' && searchParams.get('limit') === '20' && ++asked > 2) return refused;
  if (pathname === '/api/jobs') return { status: 200, body: { jobs: [], next_cursor: null } };
  return missing;
}

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    const url = new URL(request.url ?? '', 'http://server');
    // A stream that stays open.
    if (url.pathname === '/api/jobs/held/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event(job('held')));
      return;
    }
    const { status, body } = answerTo(url);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  cli = await openCommandLine({ REELWRIGHT_URL: receiver, REELWRIGHT_API_KEY: 'k' });
});
afterAll(async () => {
  await cli.close();
  server.closeAllConnections();
  server.close();
});

const event = (shown: ReturnType<typeof job>) =>
  `id: ${shown.updated_at}\nevent: job\ndata: ${JSON.stringify(shown)}\n\n`;

/** The characters that a terminal obeys, but the clearing of a line by the bar of this program. */
function steering(text: string): string[] {
  const own = text.replaceAll('\r\u001B[K', '').replaceAll('\r\n', '\n');
  // oxlint-disable-next-line no-control-regex -- it is what must not be there
  return own.match(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/g) ?? [];
}

it('listen says which jobs it does not follow any longer, and at an early end which it had not heard of', async () => {
  const { code, stderr } = await cli.run(['listen', '--forward', `${receiver}/hook`]);
  expect([steering(stderr), code]).toEqual([[], 4]);
  expect(stderr).toMatch(/^job lost is not followed any longer: \?\]0;title/m);
  expect(stderr).toMatch(/^1 jobs were followed \(held\) whose end is not forwarded$/m);
}, 30_000);
