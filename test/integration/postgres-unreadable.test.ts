import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '#platform/postgres/database.ts';
import { certificate } from '../../testing/certificate.ts';
import { collectUncaught } from '../../testing/uncaught.ts';

/** A server that answers the first bytes of each connection by `answer`, over TLS where the client asks for it. */
async function serverThatAnswers(answer: Buffer): Promise<number> {
  const tls = createTlsServer(certificate, (socket) => {
    socket.on('error', () => undefined).once('data', () => socket.write(answer));
  });
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes: Buffer) => {
      // An SSLRequest has no more than its length and its code.
      if (bytes.length > 8) return socket.write(answer);
      socket.write('S');
      return tls.emit('connection', socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test.each([
  ['asks for GSSAPI', [0x52, 0, 0, 0, 8, 0, 0, 0, 7]],
  ['asks for SSPI', [0x52, 0, 0, 0, 8, 0, 0, 0, 9]],
  ['sends half a message', [0x52, 0, 0, 0, 5, 0]],
  ['sends a row without a size', [0x54, 0, 0, 0, 4]],
])('a PostgreSQL that %s fails its queries alone', async (_what, answer) => {
  const uncaught = collectUncaught();
  const port = await serverThatAnswers(Buffer.from(answer));
  for (const query of ['', '?sslmode=no-verify']) {
    const database = openDatabase(`postgres://a:b@127.0.0.1:${port}/x${query}`, { connectionTimeoutMs: 2_000 });
    // It waits for no limit of time.
    await expect(database.ping()).rejects.toThrow(/^(?!.*timeout)/);
    await database.close();
  }
  expect(uncaught).toEqual([]);
});
