import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JobFilter, listJobs } from '#platform/postgres/job-list.ts';
import type { Database } from '#platform/postgres/database.ts';
import { type ApiUnderTest, startApi } from '../contract/api-under-test.ts';

// Lists of jobs over a table of many rows, and beside everything else that the API does.

let api: ApiUnderTest;

beforeAll(async () => {
  api = await startApi();
  // 20,000 jobs; of one type, and of one status, only the oldest three.
  await api.d.database.pool.query(`
    insert into jobs (id, type, hash, source, options, idempotency_key, queue, status, error, created_at)
    select gen_random_uuid(), case when n <= 3 then 'video:full' else 'image:thumbnail' end, 'h' || n / 10, 's', '{}',
      'k' || n, 'default', case when n between 4 and 6 then 'cancelled' else 'completed' end,
      case when n between 4 and 6 then '{"code": "cancelled"}'::json end,
      now() - interval '30 days' + n * interval '1 second'
    from generate_series(1, 20000) as n`);
  await api.d.database.pool.query('analyze jobs');
});
afterAll(() => api.close());

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly Plan[];
}

const days = (ago: number) => new Date(Date.now() - ago * 86_400_000);

describe('lists of jobs', () => {
  it.each<[JobFilter, string]>([
    [{}, 'jobs_by_age'],
    [{ type: 'video:full' }, 'jobs_by_type'],
    [{ status: 'cancelled' }, 'jobs_by_type'],
    [{ hash: 'h7' }, 'jobs_of_hash'],
    [{ type: 'video:full', status: 'failed' }, 'jobs_by_type'],
    [{ hash: 'h7', type: 'image:thumbnail', status: 'completed' }, 'jobs_of_hash'],
    [{ prefix: 'h777' }, 'jobs_by_hash_prefix'],
    [{ code: 'cancelled' }, 'jobs_by_code'],
    [{ code: 'cancelled', type: 'image:thumbnail', prefix: 'h' }, 'jobs_by_code'],
    [{ createdAfter: days(31), createdBefore: days(29) }, 'jobs_by_age'],
    [{ status: 'cancelled', createdAfter: days(31) }, 'jobs_by_type'],
  ])('C13.12: a list filtered by %j is read from the index %s, on every page', async (filter, index) => {
    const cursor = { createdAt: new Date(), id: '00000000-0000-4000-8000-000000000000' };
    for (const after of [null, cursor]) {
      const plans: Plan[] = [];
      const query = async (text: string, values: unknown[]) => {
        const { rows } = await api.d.database.pool.query(`explain (format json) ${text}`, values);
        plans.push(rows[0]['QUERY PLAN'][0].Plan as Plan);
        return { rows: [] };
      };
      await listJobs({ pool: { query } } as unknown as Pick<Database, 'pool'>, filter, { after, limit: 51 });
      const nodes: Plan[] = plans.flatMap(function all(plan): Plan[] {
        return [plan, ...(plan.Plans ?? []).flatMap(all)];
      });
      expect(nodes.map((node) => node['Index Name']).filter((name) => name !== undefined)).toEqual([index]);
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    }
    const jobs = await listJobs(api.d.listDatabase, filter, { after: null, limit: 5 });
    const expected = await api.d.database.pool.query(
      `select id from jobs where ($1::text is null or type = $1) and ($2::text is null or status = $2)
       and ($3::text is null or hash = $3) and ($4::text is null or starts_with(hash, $4))
       and ($5::text is null or error ->> 'code' = $5) and ($6::timestamptz is null or created_at > $6)
       and ($7::timestamptz is null or created_at < $7) order by created_at desc, id desc limit 5`,
      [filter.type, filter.status, filter.hash, filter.prefix, filter.code, filter.createdAfter, filter.createdBefore],
    );
    expect(jobs.map(({ id }) => id)).toEqual(expected.rows.map(({ id }) => id as string));
  });

  it.each<JobFilter>([{}, { hash: 'h7' }, { status: 'cancelled' }, { type: 'video:full' }])(
    'C13.13: the pages of a list filtered by %j repeat no job and leave none out, also of one time',
    async (filter) => {
      const pool = api.d.listDatabase;
      // Two of each filter have one time: their ids alone order them.
      await api.d.database.pool.query(`
        update jobs set created_at = now() - interval '30 days' + (n - n % 2) * interval '1 second'
        from (select id, substr(idempotency_key, 2)::int as n from jobs where idempotency_key ~ '^k[0-9]+$') as numbered
        where jobs.id = numbered.id and n <= 80`);
      const whole = await listJobs(pool, filter, { after: null, limit: 6 });
      const paged: typeof whole = [];
      while (paged.length < whole.length) {
        const page = await listJobs(pool, filter, { after: paged.at(-1) ?? null, limit: 1 });
        if (page.length === 0) break;
        paged.push(...page);
      }
      expect(whole.length).toBeGreaterThan(2);
      expect(paged.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
    },
  );

  it('a list that takes longer than three seconds is ended by the database', async () => {
    const startedAt = performance.now();
    await expect(api.d.listDatabase.pool.query('select pg_sleep(30)')).rejects.toThrow('statement timeout');
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(2_500);
    const { rows } = await api.d.listDatabase.pool.query<{ setting: string }>(
      `select setting from pg_settings where name = 'statement_timeout'`,
    );
    expect(rows).toEqual([{ setting: '3000' }]);
  });

  it('C13.14, C13.15: lists that take long leave submissions and readiness alone, and further lists are refused', async () => {
    const { pool } = api.d.listDatabase;
    const held = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
    // Whatever is read by the connections of lists.
    const paths = ['/api/jobs', '/api/media', '/api/pools', `/api/jobs/${randomUUID()}/timeline`];
    const lists = Array.from({ length: 32 }, (_, n) => api.call(paths[n % paths.length] ?? ''));
    const [submitted, ready] = await Promise.all([
      api.submit({ type: 'image:thumbnail', hash: 'beside', source: 'a.jpg' }),
      api.call('/readyz'),
    ]);
    const read = await api.call(`/api/jobs/${submitted.json.job_id}`);
    const cancelled = await api.call(`/api/jobs/${submitted.json.job_id}/cancel`, { method: 'POST' });
    expect([submitted.status, ready.status, read.status, cancelled.status]).toEqual([202, 200, 200, 200]);
    for (const refused of await Promise.all(lists))
      expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([503, 'busy', '1']);
    for (const client of held) client.release();
    expect((await api.call('/api/jobs?limit=1')).status).toBe(200);
  });
});
