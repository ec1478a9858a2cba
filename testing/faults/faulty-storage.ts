import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

// An HTTP proxy before an S3 server, for what storage does: refusals, delays, answers that end early or never come, and
// lists of a while ago.

/**
 * `500`, `503`, `403`: refused without a look. `slow`: answered late. `truncated`: half of each body, then the end of
 * the connection. `lost`: done, and not answered. `stale`: a list as it was when the fault began.
 */
export const storageFaults = ['500', '503', '403', 'slow', 'truncated', 'lost', 'stale'] as const;
export type StorageFault = (typeof storageFaults)[number];

export interface FaultyStorage {
  readonly endpoint: string;
  /**
   * Begins a fault; what it returns ends it. Of several, one that every request meets goes first, then the latest.
   *
   * @param share of the requests, 0–1
   */
  begin(fault: StorageFault, share?: number): () => void;
  close(): Promise<void>;
}

const slowMs = 3_000;
const codes = { 500: 'InternalError', 503: 'SlowDown', 403: 'AccessDenied' };

/** @param random 0 ≤ random < 1: which requests of a share meet the fault */
export async function startFaultyStorage(endpoint: string, random: () => number): Promise<FaultyStorage> {
  const target = new URL(endpoint);
  const agent = new Agent({ keepAlive: true });
  const lists = new Map<string, Buffer>();
  let active: readonly { readonly fault: StorageFault; readonly share: number }[] = [];

  const forward = async (incoming: IncomingMessage, body: Buffer): Promise<[IncomingMessage, Buffer]> => {
    const { method, url: path, headers } = incoming;
    const outgoing = request({ agent, host: target.hostname, port: target.port, method, path, headers });
    outgoing.end(body);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return [answer, await buffer(answer)];
  };
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '' } = incoming;
    const body = await buffer(incoming);
    const current = active.findLast(({ share }) => share === 1) ?? active.at(-1);
    const fault = current !== undefined && random() < current.share ? current.fault : null;
    if (fault === '500' || fault === '503' || fault === '403') {
      response.writeHead(Number(fault), { 'content-type': 'application/xml' });
      response.end(`<Error><Code>${codes[fault]}</Code></Error>`);
      return;
    }
    if (fault === 'slow') await sleep(slowMs);
    const isList = incoming.method === 'GET' && url.includes('list-type=2');
    const [answer, fresh] = await forward(incoming, body);
    if (fault === 'lost') {
      response.destroy();
      return;
    }
    const bytes = fault === 'stale' && isList ? (lists.get(url) ?? fresh) : fresh;
    if (isList && current?.fault !== 'stale') lists.set(url, fresh);
    const { 'transfer-encoding': _chunked, connection: _connection, ...headers } = answer.headers;
    // The length of an answer to HEAD is the object's.
    if (incoming.method !== 'HEAD') headers['content-length'] = String(bytes.length);
    response.writeHead(answer.statusCode ?? 500, headers);
    if (fault !== 'truncated' || bytes.length < 2) response.end(bytes);
    else response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begin: (fault, share = 1) => {
      const begun = { fault, share };
      active = [...active, begun];
      return () => {
        active = active.filter((each) => each !== begun);
      };
    },
    close: async () => {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
