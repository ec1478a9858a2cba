import { monitorEventLoopDelay } from 'node:perf_hooks';
import Fastify from 'fastify';

// The floor of the delay of an event loop: an idle process beside the one that is measured. Its argument is the port;
// each answer of `/delay` is the 99th percentile in milliseconds since the one before.

const [port = ''] = process.argv.slice(2);
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
const app = Fastify();
app.get('/healthz', () => 'OK');
app.get('/delay', () => {
  const ms = delay.percentile(99) / 1e6;
  delay.reset();
  return String(ms);
});
await app.listen({ host: '127.0.0.1', port: Number(port) });
