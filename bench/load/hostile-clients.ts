import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostileOptionsSchema } from '../support/client-options.ts';

// The clients of one address that take what they can get, until the process is ended by SIGTERM: then it prints what it
// did. Its standard input says how many of each kind there are.

const { host, port, from, ...options } = hostileOptionsSchema.parse(JSON.parse(await text(process.stdin)));
/** A read of 64 KiB in this time: more than the least rate that a server accepts. */
const slowReadMs = 2_000;
const retryMs = 1_000;

/** By what was done or answered. */
const counts: Record<string, number> = {};
const count = (what: string) => (counts[what] = (counts[what] ?? 0) + 1);

function open(request: string): Socket {
  const socket = connect({ port, host, localAddress: from }, () => socket.write(request));
  return socket.on('error', () => count('socket error'));
}

async function readSlowly(path: string): Promise<never> {
  for (;;) {
    const socket = open(`GET ${path} HTTP/1.1\r\nHost: a\r\nRange: bytes=0-\r\n\r\n`);
    socket.once('data', (bytes: Buffer) => count(`range ${bytes.toString('latin1', 9, 12)}`));
    socket.on('data', () => {
      socket.pause();
      setTimeout(() => socket.resume(), slowReadMs);
    });
    await once(socket, 'close');
    await sleep(retryMs);
  }
}

function sendHalf(): void {
  const socket = open('GET / HTTP/1.1\r\nHost: a\r\n').resume();
  socket.once('connect', () => count('half-sent'));
}

const agent = new Agent({ keepAlive: true, localAddress: from });

async function requestImages(paths: Iterable<string>): Promise<void> {
  for (const path of paths) {
    try {
      const [response] = (await once(get({ host, port, path, agent }), 'response')) as [IncomingMessage];
      response.resume();
      await once(response, 'end');
      count(`image ${response.statusCode}`);
      if (response.statusCode !== 200) await sleep(Number(response.headers['retry-after'] ?? 1) * 1000);
    } catch {
      count('image error');
      await sleep(retryMs);
    }
  }
}

process.once('SIGTERM', () => process.stdout.write(JSON.stringify(counts), () => process.exit()));
for (let n = 0; n < options.slowReaders; n++)
  void readSlowly(options.rangePaths[n % options.rangePaths.length] as string);
const images = options.imagePaths.values();
for (let n = 0; n < options.imageClients; n++) void requestImages(images);
const turnsPerSecond = 20;
setInterval(() => {
  for (let n = 0; n < options.halfSentPerSecond / turnsPerSecond; n++) sendHalf();
}, 1000 / turnsPerSecond);
