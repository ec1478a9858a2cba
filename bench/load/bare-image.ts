import { randomBytes } from 'node:crypto';
import Fastify from 'fastify';

// The floor of an image that is in memory: fastify, and a buffer. Its arguments are the port and the size in bytes.

const [port = '', sizeBytes = ''] = process.argv.slice(2);
const image = randomBytes(Number(sizeBytes));
const app = Fastify();
app.get('/image/:n', (_request, reply) => reply.type('image/webp').send(image));
app.get('/healthz', () => 'OK');
await app.listen({ host: '127.0.0.1', port: Number(port) });
