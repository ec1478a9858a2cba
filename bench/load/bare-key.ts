import { randomBytes } from 'node:crypto';
import Fastify from 'fastify';
import { Redis } from 'ioredis';

// The floor of a content key: fastify, one command of Redis for the limit, and 16 bytes. It checks no token. Its
// arguments are the port and the address of Redis.

const [port = '', url = ''] = process.argv.slice(2);
const key = randomBytes(16);
const redis = new Redis(url, { enableAutoPipelining: true });
const app = Fastify();
app.get('/api/key/:n', async (_request, reply) => {
  await redis.incr('limit');
  return reply.type('application/octet-stream').send(key);
});
app.get('/healthz', () => 'OK');
await app.listen({ host: '127.0.0.1', port: Number(port) });
