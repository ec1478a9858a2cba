import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { ClientAddresses } from './client-addresses.ts';
import { limitConnections } from './connection-limits.ts';

it('a connection with a response under way stays at the limit, also after the response to an earlier request', async () => {
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => responses.push(response));
  limitConnections(server, new ClientAddresses([]), { connectionsMax: 2 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  const received = text(client).catch(String);
  client.write('GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
  await expect.poll(() => responses.length).toBe(2);
  responses[0]?.end('first');
  await expect.poll(() => responses[0]?.closed).toBe(true);
  const other = connect(port, '127.0.0.1').on('error', () => {});
  await once(other, 'close');
  responses[1]?.end('second');
  expect(await received).toMatch(/first[^]*second/);
  server.close();
});

it.each([
  ['2001:db8::1', '2001:db8::2', true],
  ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ['192.0.2.1', '192.0.2.2', false],
])('at the limit a connection of %s gives way to one of %s: %s', (first, second, isClosed) => {
  const server = createServer();
  limitConnections(server, new ClientAddresses([]), { connectionsMax: 2 });
  const sockets = [first, second].map((address) =>
    Object.defineProperty(new Socket(), 'remoteAddress', { value: address }),
  );
  for (const socket of sockets) server.emit('connection', socket);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([isClosed, false]);
  for (const socket of sockets) socket.destroy();
  server.emit('close');
});
