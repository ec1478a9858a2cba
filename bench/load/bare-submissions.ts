import Fastify from 'fastify';
import { openDatabase } from '#platform/postgres/database.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { newJobOf } from '../../testing/new-job.ts';

// Submissions to the store from a process of their own, as a server makes them: so many at once, for so long as is
// asked. The arguments are the port and the database.

const [port = '', url = ''] = process.argv.slice(2);
const atOnce = 32;
const jobs = new JobStore(openDatabase(url));
const app = Fastify();
app.get<{ Params: { ms: string } }>('/rounds/:ms', async ({ params }) => {
  const startMs = performance.now();
  let submitted = 0;
  const submitRest = async () => {
    for (; performance.now() < startMs + Number(params.ms); submitted++) {
      const hash = `bench-${Math.random()}`;
      await jobs.insertOrFind(newJobOf({ type: 'image:thumbnail', hash, source: 'in', options: { outputs: [] } }));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, submitRest));
  return { perSecond: (submitted * 1000) / (performance.now() - startMs) };
});
app.get('/healthz', () => 'OK');
await app.listen({ host: '127.0.0.1', port: Number(port) });
