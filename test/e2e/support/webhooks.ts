import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, inject } from 'vitest';
import { listenAddress } from './host-servers.ts';
import { eventually } from './service.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A receiver of webhooks on this machine, which pods reach. */
export async function startReceiver() {
  const { hostAddress } = inject('e2e');
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(204).end();
    });
  });
  server.listen(0, listenAddress(hostAddress));
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${hostAddress}:${port}/hook`,
    /** The webhooks about a job. */
    about: (jobId: string): readonly Received[] => received.filter(({ body }) => body.includes(jobId)),
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

/** Expects exactly one webhook of a finished job; returns how many of its attempts counted as failures. */
export async function endsOnce(
  receiver: Pick<Awaited<ReturnType<typeof startReceiver>>, 'about'>,
  id: string,
  status: string,
): Promise<{ failures: number }> {
  const webhooks = () => Promise.resolve(receiver.about(id));
  await eventually(webhooks, (hooks) => hooks.length > 0, 30_000);
  await sleep(1_000);
  expect((await webhooks()).map(({ body }) => (JSON.parse(body.toString()) as { status: string }).status)).toEqual([
    status,
  ]);
  const client = new Client({ connectionString: inject('e2e').servers.postgres.onHost });
  await client.connect();
  try {
    const { rows } = await client.query<{ failures: number }>('select failures from jobs where id = $1', [id]);
    return { failures: rows[0]?.failures ?? -1 };
  } finally {
    await client.end();
  }
}
