import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readStreamTicket, signStreamTicket, ticketSecretsOf } from '#domain/playback/ticket.ts';
import { checkout } from '../../testing/checkout.ts';
import { hasEdgeNginx, startEdgeNginx } from '../../testing/edge-nginx.ts';

// The programs of docs/guides/tickets.md, "Verify at the edge", before a server that counts what reaches it and refuses
// as the service does.

const secret = 'a secret of streams at the edge';
const secrets = ticketSecretsOf([secret]);
const page = await readFile(join(checkout, 'docs/guides/tickets.md'), 'utf8');
const blockOf = (language: string) => new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? '';
const ticketOf = (given: { hash?: string; exp?: number; generation?: number; scope?: string } = {}, by = secret) =>
  signStreamTicket({ hash: 'movie-1', exp: Math.floor(Date.now() / 1000) + 60, ...given }, by);

let folder: string;
let origin: Server;
let originUrl: string;
let reached: string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-edge-'));
  origin = createServer((request, response) => {
    reached.push(request.url ?? '');
    const [, , ticket = '', hash = ''] = (request.url ?? '').split('/');
    const verdict = readStreamTicket(ticket, hash, secrets);
    const isGood = verdict.kind === 'signed' && verdict.ticket.exp > Date.now() / 1000;
    response.writeHead(isGood ? 200 : 403, { 'cache-control': isGood ? 'public, max-age=60' : 'no-store' });
    response.end(isGood ? `bytes of generation ${verdict.ticket.generation}` : 'refused');
  }).listen(0, '127.0.0.1');
  await once(origin, 'listening');
  originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
});
afterAll(async () => {
  origin.closeAllConnections();
  origin.close();
  await rm(folder, { recursive: true, force: true });
});

type Ask = (path: string) => Promise<{ readonly status: number; readonly text: string }>;

/** Expects of an edge what every edge does. */
async function expectEdge(ask: Ask): Promise<void> {
  const segment = 'movie-1/0123456789abcdef/video/r360_h264/seg_1.m4s';
  reached = [];
  for (const scope of ['sid-a', 'sid-b', undefined]) {
    const ticket = ticketOf(scope === undefined ? {} : { scope });
    expect(await ask(`/s/${ticket}/${segment}`)).toEqual({ status: 200, text: 'bytes of generation 0' });
  }
  expect(reached).toHaveLength(1);
  // Another limit or generation is another object.
  expect((await ask(`/s/${ticketOf({ scope: '720p~sid-a' })}/${segment}`)).status).toBe(200);
  expect((await ask(`/s/${ticketOf({ generation: 1 })}/${segment}`)).text).toBe('bytes of generation 1');
  expect(reached).toHaveLength(3);
  const wrong = [
    ticketOf({ hash: 'movie-2' }),
    ticketOf({}, 'a secret of somebody else'),
    ticketOf({ exp: Math.floor(Date.now() / 1000) - 1 }),
    ticketOf().replace(/^\d/, '9'),
    'ticket',
    '...',
  ];
  for (const ticket of wrong)
    expect([ticket, await ask(`/s/${ticket}/${segment}`)]).toEqual([ticket, { status: 403, text: 'refused' }]);
  expect(reached).toHaveLength(3 + wrong.length);
}

describe.skipIf(!hasEdgeNginx)('nginx', () => {
  let edge: Awaited<ReturnType<typeof startEdgeNginx>> | undefined;
  afterAll(() => edge?.stop());

  it('C33.14: nginx keeps one copy for all tickets of a generation and limit, and passes on what is wrong', async () => {
    const { url } = (edge = await startEdgeNginx({
      folder,
      script: blockOf('javascript'),
      configuration: blockOf('nginx'),
      servers: [originUrl],
      secret,
    }));
    const ask: Ask = async (path) => {
      const answer = await fetch(`${url}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    await expect
      .poll(
        () =>
          ask('/s/x/y/z').then(
            ({ status }) => status,
            () => 0,
          ),
        { timeout: 10_000 },
      )
      .toBe(403);
    await expectEdge(ask);
  });
});

it('C33.14: the Worker keeps one copy for all tickets of a generation and limit, and passes on what is wrong', async () => {
  const file = join(folder, 'worker.mts');
  await writeFile(file, blockOf('ts'));
  interface Worker {
    readonly default: { fetch(request: Request, env: object, context: object): Promise<Response> };
  }
  const { default: worker } = (await import(pathToFileURL(file).href)) as Worker;
  // The platform's cache, which Node does not have.
  const stored = new Map<string, Response>();
  const cache = {
    match: async (key: string) => stored.get(key)?.clone(),
    put: async (key: string, answer: Response) => void stored.set(key, answer),
  };
  Object.assign(globalThis, { caches: { default: cache } });
  await expectEdge(async (path) => {
    const works: Promise<unknown>[] = [];
    const context = { waitUntil: (work: Promise<unknown>) => works.push(work) };
    const answer = await worker.fetch(new Request(`${originUrl}${path}`), { STREAM_SECRET: secret }, context);
    await Promise.all(works);
    return { status: answer.status, text: await answer.text() };
  });
  expect(stored.size).toBe(3);
  Reflect.deleteProperty(globalThis, 'caches');
});
