import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEventRules } from '#domain/bucket-events/event-rules.ts';
import { KnownProblem } from '#domain/errors.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import { DueWorkStore } from '#platform/postgres/due-work.ts';
import { oldRowsTasks } from '../../controller/upkeep/old-rows.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Bring in": events of the bucket.

const token = 'token-of-the-bucket-of-the-contract-tests';
const read = readEventRules([
  { prefix: 'in/', suffix: '.mp4', type: 'video:cover', hash: '{name}', options: { timestamp_sec: 1 } },
  { prefix: 'photos/', type: 'image:thumbnail' },
  { prefix: 'long/', type: 'image:thumbnail', hash: '{key}' },
  { prefix: 'kept/', type: 'video:cover', hash: '{name}', new_version: 'keep' },
  { prefix: 'gpu/', type: 'video:cover', hash: '{name}', pool: 'gpu' },
  { prefix: 'new/', type: 'video:cover', hash: '{name}' },
  { prefix: 'titled/', type: 'video:cover', hash: 'titled-{name}', title: '{name} (rushes)' },
]);
const eventRules = 'rules' in read ? read.rules : [];
const source = { bucket: 'sources', s3: { endpoint: 'http://s3' } as never };

const cover = { key: 'videos/aa/a/cover.jpg', format: 'jpg', size: 1, width: 2, height: 2, timestamp_sec: 0 } as const;

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi({ eventRules, eventsTokens: [token], source });
  await Promise.all(['in/a b.mp4', 'in/c.mp4'].map((key) => api.putSource(key, 'x')));
});
afterAll(() => api.close());

const record = (key: string, eTag = 'e1', more: { bucket?: string; eventName?: string } = {}) => ({
  eventName: more.eventName ?? 's3:ObjectCreated:Put',
  s3: { bucket: { name: more.bucket ?? 'sources' }, object: { key, eTag } },
});
const send = (body: unknown, headers: Record<string, string> = {}, of = api) =>
  of.call('/api/events/s3', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const titled = (version: string) => ({ Records: [record('titled/S%C3%A3o+%26+S%C3%B6hne+100%25.mp4', version)] });
const envelope = (message: unknown) => ({ Type: 'Notification', TopicArn: 'arn:t', Message: JSON.stringify(message) });
const outcomes = (json: { jobs: { outcome: string }[] }) => json.jobs.map(({ outcome }) => outcome);

describe('events of the bucket', () => {
  it('C30.13: an object that was created is submitted by the first rule that matches its key', async () => {
    const { status, json } = await send({ Records: [record('in/a+b.mp4'), record('photos/p.jpg')] });
    expect([status, outcomes(json)]).toEqual([200, ['submitted', 'submitted']]);
    const job = await api.call(`/api/jobs/${json.jobs[0].job_id}`);
    expect(job.json).toMatchObject({ type: 'video:cover', hash: 'a-b', status: 'queued' });
    const photo = await api.call(`/api/jobs/${json.jobs[1].job_id}`);
    expect(photo.json).toMatchObject({ type: 'image:thumbnail', hash: expect.stringMatching(/^[0-9a-f]{32}$/) });
  });

  it('C38.11: a rule gives a media its title, as the key has it, where nobody has said one', async () => {
    await api.putSource('titled/São & Söhne 100%.mp4', 'x');
    const [first] = (await send(titled('v1'))).json.jobs;
    const { hash } = (await api.call(`/api/jobs/${first.job_id}`)).json;
    const titleNow = async () => (await api.call(`/api/media/${hash}`)).json.title as string | null;
    expect([hash, await titleNow()]).toEqual(['titled-S-o---S-hne-100-', 'São & Söhne 100% (rushes)']);
    expect((await api.call(`/api/jobs/${first.job_id}`)).json.title).toBe('São & Söhne 100% (rushes)');
    for (const title of ['Renamed', null]) {
      await api.call(`/api/media/${hash}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title }),
      });
      expect(outcomes((await send(titled(`after ${title}`))).json)).toEqual(['existing']);
      expect(await titleNow()).toBe(title);
    }
    const unfit = readEventRules([{ type: 'video:cover', title: '{title}' }]);
    expect('faults' in unfit && unfit.faults).toMatchObject([{ pointer: '/0/title' }]);
  });

  it.each(['uploads', 'imports'])(
    'C38.13: the title of a file of %s is that of its job, in place of that of the rule',
    async (table) => {
      const id = randomUUID();
      const at = {
        id,
        keyId: 'key',
        name: 'a.mp4',
        source: `titled/${id}/${table}.mp4`,
        sha256: null,
        partSizeBytes: 10,
      };
      const title = 'São Paulo';
      const { database } = api.d;
      if (table === 'uploads')
        await new UploadStore(database).insert(
          { ...at, title, contentType: null, sizeBytes: 10 },
          { expiryMs: 60_000, openMax: 9 },
        );
      else
        await new ImportStore(database).insert(
          { ...at, title, url: 'https://a.example/a.mp4' },
          { waitMsMax: 60_000, openMax: 9 },
        );
      await api.putSource(at.source, 'x');
      const [job] = (await send({ Records: [record(at.source)] })).json.jobs;
      expect((await api.call(`/api/jobs/${job.job_id}`)).json.title).toBe(title);
      expect((await api.call(`/api/media/titled-${table}`)).json.title).toBe(title);
    },
  );

  it('C26.18: a rule names the pool of its jobs, also of the next version, and the pool need not exist yet', async () => {
    await api.putSource('gpu/a.mp4', 'x');
    const [first] = (await send({ Records: [record('gpu/a.mp4', 'v1')] })).json.jobs;
    expect((await api.call(`/api/jobs/${first.job_id}`)).json).toMatchObject({ pool: 'gpu', status: 'queued' });
    await api.complete(first.job_id, cover);
    // The rule named no pool then.
    await api.d.database.pool.query(`update jobs set pool = null where id = $1`, [first.job_id]);
    await api.putSource('gpu/a.mp4', 'another');
    const [second] = (await send({ Records: [record('gpu/a.mp4', 'v2')] })).json.jobs;
    expect(second.job_id).not.toBe(first.job_id);
    expect((await api.call(`/api/jobs/${second.job_id}`)).json.pool).toBe('gpu');
  });

  it('C30.14: a version is submitted once, within a notification, at its repetition and by many at once', async () => {
    const body = { Records: [record('in/c.mp4', 'v1'), record('in/c.mp4', 'v1')] };
    const answers = await Promise.all([send(body), send(body), send(body)]);
    const again = await send(body);
    expect(outcomes(again.json)).toEqual(['duplicate', 'duplicate']);
    const ids = [...answers, again].flatMap(({ json }) => json.jobs.map(({ job_id: id }: { job_id: string }) => id));
    expect(new Set(ids).size).toBe(1);
    expect([...answers].flatMap(({ json }) => outcomes(json)).filter((one) => one === 'submitted')).toHaveLength(1);
    // The job failed since: only another version of the object makes another job.
    await api.fail(ids[0]);
    expect(outcomes((await send(body)).json)).toEqual(['duplicate', 'duplicate']);
    expect(outcomes((await send({ Records: [record('in/c.mp4', 'v2')] })).json)).toEqual(['submitted']);
    // Two versions in one notification are two.
    const { json: both } = await send({ Records: [record('in/c.mp4', 'v3'), record('in/c.mp4', 'v4')] });
    expect(outcomes(both)).toEqual(['existing', 'existing']);
  });

  it('C30.15: what no rule matches, other buckets, removals and invalid submissions make no job and are named', async () => {
    const { status, json } = await send({
      Records: [
        record('other/a.mp4'),
        record('in/a.mp4', 'e1', { bucket: 'others' }),
        record('in/a.mp4', 'e1', { eventName: 's3:ObjectRemoved:Delete' }),
        record('in/missing.mp4'),
        record(`long/${'x'.repeat(200)}`),
      ],
    });
    expect([status, outcomes(json)]).toEqual([200, ['ignored', 'ignored', 'ignored', 'refused', 'refused']]);
    expect(json.jobs.map(({ reason }: { reason: string }) => reason)).toEqual([
      'no rule matches the key',
      'is not of the source bucket',
      'is no creation of an object',
      expect.stringContaining('does not exist'),
      expect.stringContaining('/hash'),
    ]);
    expect((await send({ Event: 's3:TestEvent' })).json).toEqual({ jobs: [] });
  });

  it('C30.16: a bucket shows an API key, or EVENTS_TOKEN as MinIO sends it, and no other token', async () => {
    const body = { Event: 's3:TestEvent' };
    const as = (headers: Record<string, string>) => send(body, { 'x-api-key': 'none', ...headers });
    expect((await as({ authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await as({ authorization: `Bearer ${token}x` })).status).toBe(401);
    expect((await as({ authorization: token })).status).toBe(401);
    expect((await as({})).status).toBe(401);
    expect(
      (await api.call('/api/jobs', { headers: { 'x-api-key': 'none', authorization: `Bearer ${token}` } })).status,
    ).toBe(401);
  });

  it('C30.14: while the storage fails an event is no answer but a fault, so that its sender repeats it', async () => {
    await api.putSource('in/late.mp4', 'x');
    const body = { Records: [record('in/late.mp4', 'v1')] };
    const head = api.d.source.head.bind(api.d.source);
    Object.assign(api.d.source, { head: () => Promise.reject(new KnownProblem('storage_error', 'no answer')) });
    const failed = await send(body);
    Object.assign(api.d.source, { head });
    expect(failed.status).toBeGreaterThanOrEqual(500);
    expect(outcomes((await send(body)).json)).toEqual(['submitted']);
  });

  it('C30.14: versions are forgotten once no sender repeats their notification, the oldest first', async () => {
    const { pool } = api.d.database;
    const days = [100, 95, 92, 89, 1];
    await pool.query(
      `insert into bucket_events (id, job_id, seen_at)
       select sha256(days::text::bytea), gen_random_uuid(), now() - days * interval '1 day' from unnest($1::int[]) as days`,
      [days],
    );
    const kept = async () => {
      const { rows } = await pool.query<{ days: number }>(
        `select extract(day from now() - seen_at)::int as days from bucket_events order by seen_at`,
      );
      return rows.map((row) => row.days).filter((age) => age > 0);
    };
    const dueWork = new DueWorkStore(api.d.database);
    const page = { delayMs: 90 * 86_400_000, limit: 2 };
    expect([await dueWork.delete('bucket_event_retention', page), await kept()]).toEqual([2, [92, 89, 1]]);
    for (const task of oldRowsTasks({ dueWork })) await task.work(new AbortController().signal);
    expect(await kept()).toEqual([89, 1]);
  });

  it('C30.14: a version is noted before its notification is answered', async () => {
    await api.putSource('in/noted.mp4', 'x');
    const { pool } = api.d.database;
    const query = pool.query.bind(pool) as (...parameters: unknown[]) => Promise<unknown>;
    const slowly = async (...parameters: unknown[]) => {
      if (String(parameters[0]).includes('insert into bucket_events')) await sleep(300);
      return query(...parameters);
    };
    Object.assign(pool, { query: slowly });
    const { json } = await send({ Records: [record('in/noted.mp4', 'v1')] });
    Object.assign(pool, { query });
    const noted = 'select from bucket_events where job_id = $1';
    expect((await pool.query(noted, [json.jobs[0].job_id])).rowCount).toBe(1);
  });

  it('C30.15: a body that is not a notification is refused with every fault', async () => {
    const answer = await send({ source: 'other', detail: {} });
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_request']);
    expect(answer.json.errors.length).toBeGreaterThan(1);
  });

  it('C30.15: a record that cannot be read is refused by itself, and the others are submitted', async () => {
    await api.putSource('in/good.mp4', 'x');
    const { status, json } = await send({ Records: [{ s3: {} }, record('in/good.mp4'), record('%zz'), null] });
    expect([status, outcomes(json)]).toEqual([200, ['refused', 'submitted', 'refused', 'refused']]);
    expect(json.jobs[0].reason).toContain('/Records/0/eventName is required');
    expect(json.jobs[2]).toMatchObject({ key: '%zz', reason: expect.stringContaining('must be URL-encoded') });
  });

  it('C30.15: a record whose storage fails makes the sender repeat, and the others are submitted', async () => {
    await Promise.all(['in/away.mp4', 'in/there.mp4'].map((key) => api.putSource(key, 'x')));
    const body = { Records: [record('in/away.mp4'), record('in/there.mp4')] };
    const head = api.d.source.head.bind(api.d.source);
    Object.assign(api.d.source, {
      head: (key: string) =>
        key === 'in/away.mp4' ? Promise.reject(new KnownProblem('storage_error', 'no answer')) : head(key),
    });
    const failed = await send(body);
    Object.assign(api.d.source, { head });
    expect(failed.status).toBeGreaterThanOrEqual(500);
    expect(outcomes((await send(body)).json)).toEqual(['submitted', 'duplicate']);
  });

  it('C30.26: a new version of a key makes its job again once, and one that a rule keeps does not', async () => {
    const submitted = async (key: string, content: string, version: string) => {
      await api.putSource(key, content);
      return (await send({ Records: [record(key, version)] })).json.jobs?.[0];
    };
    const first = await submitted('new/a.mp4', 'one', 'v1');
    await api.complete(first.job_id, cover);
    // The notification of the version that the job was made of, by another name.
    expect(await submitted('new/a.mp4', 'one', 'v1-again')).toMatchObject({ outcome: 'existing' });
    const second = await submitted('new/a.mp4', 'another', 'v2');
    expect(second).toMatchObject({ outcome: 'submitted', reason: expect.stringContaining(first.job_id) });
    const { json: rerun } = await api.call(`/api/jobs/${second.job_id}`);
    expect(rerun).toMatchObject({ hash: 'a', rerun_of_job_id: first.job_id, status: 'queued' });
    expect(outcomes((await send({ Records: [record('new/a.mp4', 'v2')] })).json)).toEqual(['duplicate']);
    const kept = await submitted('kept/b.mp4', 'one', 'v1');
    await api.complete(kept.job_id, cover);
    expect(await submitted('kept/b.mp4', 'another', 'v2')).toMatchObject({
      outcome: 'existing',
      job_id: kept.job_id,
    });
  });

  it('C30.26: a version that comes while the job of an earlier one runs is repeated by its sender', async () => {
    await api.putSource('new/c.mp4', 'one');
    const [job] = (await send({ Records: [record('new/c.mp4', 'v1')] })).json.jobs;
    await api.putSource('new/c.mp4', 'another');
    const early = await send({ Records: [record('new/c.mp4', 'v2')] });
    expect([early.status, early.json.code, early.headers.get('retry-after')]).toEqual([
      503,
      'busy',
      expect.stringMatching(/^\d+$/),
    ]);
    await api.complete(job.job_id, cover);
    const late = await Promise.all([
      send({ Records: [record('new/c.mp4', 'v2')] }),
      send({ Records: [record('new/c.mp4', 'v2')] }),
    ]);
    const made = late.flatMap(({ json }) => json.jobs as { job_id: string; outcome: string }[]);
    expect([new Set(made.map(({ job_id: id }) => id)).size, made[0]?.job_id === job.job_id]).toEqual([1, false]);
  });

  it('C30.27: an envelope of SNS is read, as text/plain with the password of its address', async () => {
    await api.putSource('in/sns.mp4', 'x');
    const headers = {
      'x-api-key': '',
      'content-type': 'text/plain; charset=UTF-8',
      authorization: `Basic ${Buffer.from(`sns:${token}`).toString('base64')}`,
    };
    const { status, json } = await send(envelope({ Records: [record('in/sns.mp4')] }), headers);
    expect([status, outcomes(json)]).toEqual([200, ['submitted']]);
    const refused = await send(envelope({ Event: 's3:TestEvent' }), { ...headers, authorization: 'Basic eDp5' });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Basic')]);
    expect(refused.json.detail).toContain('EVENTS_TOKEN');
  });

  it('C30.27: the confirmation of a subscription of SNS is logged for a person, and never fetched', async () => {
    const logged: object[] = [];
    const warn = api.d.log.warn.bind(api.d.log);
    Object.assign(api.d.log, { warn: (fields: object) => logged.push(fields) });
    const SubscribeURL = 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t';
    const answer = await send({ Type: 'SubscriptionConfirmation', TopicArn: 'arn:t', SubscribeURL });
    Object.assign(api.d.log, { warn });
    expect([answer.status, answer.json]).toEqual([200, { jobs: [] }]);
    expect(logged).toEqual([{ topic: 'arn:t', confirm_url: SubscribeURL }]);
  });

  it('C30.15: a service without rules refuses events and names the variable', async () => {
    const without = await startApi();
    try {
      const answer = await send({ Event: 's3:TestEvent' }, {}, without);
      expect([answer.status, answer.json.code]).toEqual([403, 'not_configured']);
      expect(answer.json.detail).toContain('EVENT_RULES');
    } finally {
      await without.close();
    }
  });

  it('C30.13: a service whose sources are in a folder, which has no name, takes the events of any bucket', async () => {
    const ofFolder = await startApi({ eventRules, source: { bucket: 'file:/sources', dir: '/sources' } });
    try {
      const events = [record('photos/p.jpg', 'v1', { bucket: 'any' }), record('other.txt'), record('other.txt')];
      const { json } = await send({ Records: events }, {}, ofFolder);
      expect(outcomes(json)).toEqual(['submitted', 'ignored', 'ignored']);
    } finally {
      await ofFolder.close();
    }
  });
});
