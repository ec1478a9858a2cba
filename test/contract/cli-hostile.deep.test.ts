import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CommandLine, openCommandLine } from '../../testing/command-line.ts';

// The command line against a server that is not what it seems: every text of its answers would steer a terminal.

const hostile = '\u001B]0;title\u0007\u009B2J\u202Edesrever';
const job = (id: string, status: string) => ({
  job_id: id,
  type: hostile,
  hash: hostile,
  status: `${status}${status === 'processing' ? '' : hostile}`,
  phase: hostile,
  progress: 10,
  eta: null,
  reason: null,
  results: status === 'completed' ? { key: hostile } : null,
  error: status === 'failed' ? { code: hostile, message: hostile, retryable: true } : null,
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

function answerTo(method: string, { pathname, searchParams }: URL): { status: number; body: unknown } {
  if (pathname.endsWith('/cancel')) return { status: 200, body: job('1', 'cancelled') };
  if (pathname.endsWith('/retry')) return { status: 200, body: { jobs: [job('1', 'queued')] } };
  if (pathname.endsWith('/rerun')) return { status: 202, body: job('1', 'queued') };
  if (pathname === '/api/jobs' && method === 'POST') return { status: 200, body: job('1', 'queued') };
  if (pathname.startsWith('/api/jobs/lost')) return missing;
  if (pathname === '/api/jobs/1') return { status: 200, body: job('1', 'completed') };
  if (pathname === '/api/jobs' && searchParams.get('status') === 'processing')
    return { status: 200, body: { jobs: [job('lost', 'processing'), job('held', 'processing')], next_cursor: null } };
  if (pathname === '/api/jobs' && searchParams.get('limit') === '20' && ++asked > 2) return refused;
  if (pathname === '/api/jobs') return { status: 200, body: { jobs: [], next_cursor: null } };
  return missing;
}

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    const url = new URL(request.url ?? '', 'http://server');
    if (url.pathname === '/api/jobs/2/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(['processing', 'failed'].map((status) => event(job('2', status))).join(''));
      return;
    }
    // A stream that stays open.
    if (url.pathname === '/api/jobs/held/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event(job('held', 'processing')));
      return;
    }
    const { status, body } = answerTo(request.method ?? '', url);
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
  `id: ${shown.updated_at}\nevent: job\ndata: ${JSON.stringify({ ...shown, status: shown.status.split('\u001B')[0] })}\n\n`;

/** What a terminal obeys, but the clearing of a line by the bar of this program. */
function steering(text: string): string[] {
  const own = text.replaceAll('\r\u001B[K', '').replaceAll('\r\n', '\n');
  // oxlint-disable-next-line no-control-regex -- it is what must not be there
  return own.match(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/g) ?? [];
}

it.each([
  [['cancel', '1'], 0],
  [['retry', '1'], 0],
  [['rerun', '1'], 0],
  [['submit', 'key.mp4', '--type', 'video:cover'], 0],
  [['job', '1'], 0],
  [['watch', '2'], 10],
  [['media', 'x'], 1],
] as const)('reelwright %j prints nothing of a server that would steer a terminal', async (args, code) => {
  const shown = await cli.run(args, { onTerminal: true });
  expect([steering(shown.stdout), shown.code]).toEqual([[], code]);
  expect(shown.stdout).toContain(']0;title');
});

it('listen says which jobs it does not follow any longer, and at an early end which it had not heard of', async () => {
  const { code, stderr } = await cli.run(['listen', '--forward', `${receiver}/hook`]);
  expect([steering(stderr), code]).toEqual([[], 4]);
  expect(stderr).toMatch(/^job lost is not followed any longer: \?\]0;title/m);
  expect(stderr).toMatch(/^1 jobs were followed \(held\) whose end is not forwarded$/m);
}, 30_000);
