import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A webhook as it came. */
export interface Delivery {
  /** The address that it came to. */
  readonly url: string;
  readonly id: string;
  readonly body: string;
}

/** A receiver of webhooks, which answers with the status of its `state`. */
export async function openReceiver() {
  const deliveries: Delivery[] = [];
  const state = { status: 204 };
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bodyText(request);
    deliveries.push({ url: origin() + request.url, id: String(request.headers['webhook-id']), body });
    response.writeHead(state.status).end();
  };
  const receiver = createServer((request, response) => void receive(request, response));
  const origin = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  return {
    deliveries,
    state,
    url: `${origin()}/`,
    close: () => receiver.close(),
  };
}

async function bodyText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
