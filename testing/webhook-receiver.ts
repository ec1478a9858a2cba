import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

// A server that keeps the webhooks that it receives by POST, and shows them by GET.

export interface ReceivedWebhook {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookReceiver {
  /** With a slash at its end. */
  readonly url: string;
  readonly received: readonly ReceivedWebhook[];
  close(): void;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const server = createServer((request, response) => {
    const take = async () => {
      const body = await text(request);
      if (request.method === 'POST') received.push({ headers: request.headers as Record<string, string>, body });
      response.end(request.method === 'GET' ? JSON.stringify(received) : '');
    };
    take().catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received, close };
}
