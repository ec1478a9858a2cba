import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import { Pool } from 'pg';

// The floor of a submission: fastify, and one insert into the same PostgreSQL. It checks nothing, limits no caller and
// reports no queue. Its arguments are the port and the database.

const [port = '', url = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 10 });
await pool.query('create table if not exists bare (id uuid primary key, body jsonb not null, at timestamptz not null)');
const app = Fastify();
app.post('/api/jobs', async (request, reply) => {
  const id = randomUUID();
  await pool.query('insert into bare (id, body, at) values ($1, $2, now())', [id, request.body]);
  return reply.code(202).send({ job_id: id, status: 'queued' });
});
// The floor of a batch: one insert of all its rows.
app.post<{ Body: { jobs: object[] } }>('/api/jobs/batch', { bodyLimit: 4 * 1024 * 1024 }, async (request) => {
  const ids = request.body.jobs.map(() => randomUUID());
  const bodies = request.body.jobs.map((job) => JSON.stringify(job));
  await pool.query('insert into bare select id, body, now() from unnest($1::uuid[], $2::jsonb[]) as given (id, body)', [
    ids,
    bodies,
  ]);
  return { jobs: ids.map((id) => ({ job_id: id, status: 'queued' })) };
});
app.get('/healthz', () => 'OK');
await app.listen({ host: '127.0.0.1', port: Number(port) });
