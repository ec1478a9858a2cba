import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { idleOptionsSchema } from '../support/client-options.ts';

// Clients that make one request each and keep their connections, until the process is ended by SIGTERM. It prints a
// line when all have had their response, and at its end how many connections the server has left open. Its standard
// input says how many there are.

const { port, path, addresses, connections } = idleOptionsSchema.parse(JSON.parse(await text(process.stdin)));
const request = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
/** A server that has a queue of so many connections to accept refuses more. */
const atOnce = 100;

const open = new Set<Socket>();

/** Resolves when nothing more comes of the response, or the server has closed the connection. */
async function openOne(n: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect({ port, host: '127.0.0.1', localAddress: addresses[n % addresses.length] ?? '' });
  socket.on('error', () => {}).on('data', () => resolve());
  socket.once('close', () => {
    open.delete(socket);
    resolve();
  });
  open.add(socket);
  socket.write(request);
  return promise;
}

process.once('SIGTERM', () => process.stdout.write(String(open.size), () => process.exit()));
for (let n = 0; n < connections; n += atOnce)
  await Promise.all(Array.from({ length: Math.min(atOnce, connections - n) }, (_, more) => openOne(n + more)));
process.stdout.write('open\n');
setInterval(() => {}, 60_000);
