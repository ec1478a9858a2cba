import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { addListeners, sharedPlace } from './listeners.ts';

async function listen() {
  const server = createServer((_request, response) => response.end('ok'));
  const place = await sharedPlace({ host: '127.0.0.1', port: 0 });
  await once(server.listen(place), 'listening');
  const others = await addListeners(server, place);
  const close = async () => {
    server.close();
    await others.close();
  };
  onTestFinished(() => server.closeAllConnections());
  return { server, place, close, others };
}

it.runIf(process.platform === 'linux')('accepts a burst of connections in few turns of the event loop', async () => {
  const { server, place, close } = await listen();
  let accepted = 0;
  server.on('connection', () => (accepted += 1));
  const clients = Array.from({ length: 100 }, () => connect(place));
  onTestFinished(() => clients.forEach((client) => client.destroy()));
  await turn();
  // They have all connected by then, and none was accepted.
  for (const endMs = performance.now() + 100; performance.now() < endMs;);
  for (let n = 0; n < 30; n++) await turn();
  expect(accepted).toBe(100);
  clients.forEach((client) => client.destroy());
  await close();
});

it('a listener answers on each socket, and closes idle connections when it closes', async () => {
  const { place, close, others } = await listen();
  const answers = Array.from({ length: 40 }, () =>
    fetch(`http://127.0.0.1:${place.port}`).then((answer) => answer.text()),
  );
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['ok']));
  // Of every socket; clients keep them.
  expect(await others.connectionCount()).toBe(40);
  await close();
  await expect(fetch(`http://127.0.0.1:${place.port}`)).rejects.toThrow('fetch failed');
});

it('a listener refuses a port that another socket has, whether that one shares it or not', async () => {
  const { place, close } = await listen();
  await expect(sharedPlace(place)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await close();
});
