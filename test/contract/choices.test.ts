import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { thumbnailResults } from './results.ts';

// docs/reference/contract.md, "Choices by header" and the receivers of equal submissions.

let api: ApiUnderTest;
let counter = 0;
const stream = () => ({ type: 'video:transcode', hash: `chosen-${counter++}`, source: 'video.mp4' });
const thumbnail = (more: object = {}) => ({ type: 'image:thumbnail', hash: `c${counter++}`, source: 'a.jpg', ...more });
const cover = () => ({ type: 'video:cover', hash: `chosen-${counter++}`, source: 'video.mp4' });

beforeAll(async () => {
  const profiles = { small: { crf: 30 }, 'on-gpu': { pool: 'gpu' } };
  const rules = [{ profile: 'on-gpu', source_prefix: 'by-rule/' }];
  api = await startApi({ mediaProfiles: mediaProfilesSchema.parse({ profiles, rules }) });
  await api.putSource('video.mp4', Buffer.alloc(100));
});
afterAll(() => api.close());

describe('the headers of a submission', () => {
  it('C11.35: X-Profile and X-Priority choose profile and priority of the job', async () => {
    const { json, status } = await api.submit(stream(), { 'x-profile': 'small', 'x-priority': '-1000' });
    expect(status).toBe(202);
    expect((await api.call(`/api/jobs/${json.job_id}`)).json.profile).toBe('small');
    expect(await api.d.jobs.find(json.job_id)).toMatchObject({ priority: -1000, profile: { name: 'small', crf: 30 } });
    const plain = await api.submit(stream());
    expect(await api.d.jobs.find(plain.json.job_id)).toMatchObject({ priority: 0, profile: null });
  });

  it.each([
    ['x-priority', '1001', '/X-Priority'],
    ['x-priority', '-1001', '/X-Priority'],
    ['x-priority', '1.5', '/X-Priority'],
    ['x-priority', '', '/X-Priority'],
    ['x-priority', 'high', '/X-Priority'],
    ['x-profile', 'No Name', '/X-Profile'],
    ['x-profile', '', '/X-Profile'],
    ['x-pool', 'No Pool', '/X-Pool'],
    ['x-pool', '', '/X-Pool'],
  ])('C11.35: %s "%s" is refused and named', async (name, value, pointer) => {
    const { json, status } = await api.submit(stream(), { [name]: value });
    expect([status, json.errors]).toMatchObject([400, [{ pointer, code: 'invalid_header' }]]);
  });

  it('C26.16: X-Pool chooses the pool of a job, of those that the cluster has', async () => {
    await api.d.pools.replace({ pools: [], known: ['default', 'gpu'] });
    const { json } = await api.submit(stream(), { 'x-pool': 'gpu' });
    expect((await api.call(`/api/jobs/${json.job_id}`)).json.pool).toBe('gpu');
    const large = await api.submit(stream(), { 'x-pool': 'video-large' });
    expect(await api.d.jobs.find(large.json.job_id)).toMatchObject({ pool: 'video-large', queue: 'video:large' });
    const unknown = await api.submit(stream(), { 'x-pool': 'tpu' });
    expect([unknown.status, unknown.json.errors]).toMatchObject([400, [{ pointer: '/X-Pool', code: 'unknown_pool' }]]);
    expect(unknown.json.errors[0].detail).toBe(
      'names no pool: there is no RunnerPool tpu; there are default, video-large, gpu',
    );
  });

  it('C26.16: the pool is deleted before or after a submission: a new one is refused, an equal one answered', async () => {
    await api.d.pools.replace({ pools: [], known: ['gpu'] });
    const submission = stream();
    const first = await api.submit(submission, { 'x-pool': 'gpu' });
    await api.d.pools.replace({ pools: [], known: [] });
    const again = await api.submit(submission, { 'x-pool': 'gpu' });
    expect([again.status, again.json.job_id]).toEqual([200, first.json.job_id]);
    expect((await api.submit(stream(), { 'x-pool': 'gpu' })).status).toBe(400);
    expect(await api.d.jobs.find(first.json.job_id)).toMatchObject({ pool: 'gpu', status: 'queued' });
  });

  it('C26.17: the pool of a profile is the one of its streams, unless another one is named', async () => {
    const named = { 'x-profile': 'on-gpu' };
    const rowOf = async (submission: object, headers: Record<string, string>) =>
      api.d.jobs.find((await api.submit(submission, headers)).json.job_id);
    // It changes nothing else, so no profile is stored.
    expect(await rowOf(stream(), named)).toMatchObject({ pool: 'gpu', profile: null });
    expect(await rowOf(stream(), { ...named, 'x-pool': 'default' })).toMatchObject({ pool: 'default' });
    expect(await rowOf(cover(), named)).toMatchObject({ pool: null });
    expect(await rowOf(stream(), {})).toMatchObject({ pool: null });
    await api.putSource('by-rule/video.mp4', Buffer.alloc(100));
    expect(await rowOf({ ...stream(), source: 'by-rule/video.mp4' }, {})).toMatchObject({ pool: 'gpu' });
  });

  it('C11.36: an equal submission that names another profile gets the job and a notice', async () => {
    const submission = stream();
    const { json } = await api.submit(submission);
    const other = await api.submit(submission, { 'x-profile': 'small', 'x-priority': '5' });
    expect([other.status, other.json]).toMatchObject([
      200,
      { job_id: json.job_id, profile: 'default', notice: { code: 'other_profile' } },
    ]);
    expect(other.json.notice.detail).toContain(`/api/jobs/${json.job_id}/rerun`);
    expect((await api.submit(submission, { 'x-profile': 'default' })).json).not.toHaveProperty('notice');
    const image = thumbnail();
    await api.submit(image);
    expect((await api.submit(image, { 'x-profile': 'small' })).json).not.toHaveProperty('notice');
  });

  it('C16.1, C11.35: a profile that is named on a job that makes no stream has to exist, and is not recorded', async () => {
    for (const submission of [thumbnail(), cover()]) {
      const { json, status } = await api.submit(submission, { 'x-profile': 'small' });
      expect([submission.type, status]).toEqual([submission.type, 202]);
      expect((await api.call(`/api/jobs/${json.job_id}`)).json.profile).toBeNull();
      expect((await api.d.jobs.find(json.job_id))?.profile).toBeNull();
    }
    for (const submission of [thumbnail(), cover()]) {
      const unknown = await api.submit(submission, { 'x-profile': 'smal' });
      expect([unknown.status, unknown.json.errors]).toMatchObject([
        400,
        [{ pointer: '/X-Profile', code: 'unknown_profile' }],
      ]);
      const malformed = await api.submit(submission, { 'x-profile': 'No Name' });
      expect([malformed.status, malformed.json.errors]).toMatchObject([
        400,
        [{ pointer: '/X-Profile', code: 'invalid_header' }],
      ]);
      expect((await api.call(`/api/jobs?hash=${submission.hash}`)).json.jobs).toEqual([]);
    }
  });

  it('C11.37: a profile that does not exist is 400 with those that do, unless an equal job answers', async () => {
    const submission = stream();
    const refused = await api.submit(submission, { 'x-profile': 'smal' });
    expect([refused.status, refused.json.errors]).toMatchObject([
      400,
      [{ pointer: '/X-Profile', code: 'unknown_profile', detail: expect.stringContaining('small') as string }],
    ]);
    const { json } = await api.submit(submission);
    const equal = await api.submit(submission, { 'x-profile': 'smal' });
    expect([equal.status, equal.json]).toMatchObject([200, { job_id: json.job_id, notice: { code: 'other_profile' } }]);
  });
});

const events = async (id: string) => {
  const { rows } = await api.d.database.pool.query<{ id: string; url: string; body: string }>(
    'select id, url, body from webhook_events where job_id = $1 order by url',
    [id],
  );
  return rows.map((row) => ({ ...row, body: JSON.parse(row.body) as { event_id: string } }));
};
const url = (n: number) => `https://example.com/hook/${n}`;

describe('the receivers of an equal submission', () => {
  it('C11.38: a callback_url of an equal submission is called where the job has none', async () => {
    const submission = thumbnail();
    const { json } = await api.submit(submission);
    await api.submit({ ...submission, callback_url: url(1) });
    const { callbackStatus } = await api.complete(json.job_id, thumbnailResults);
    expect([callbackStatus, (await events(json.job_id)).map((event) => event.url)]).toEqual(['pending', [url(1)]]);
  });

  it('C11.38: further ones have an event of their own, once each, and nine receivers at most', async () => {
    const submission = thumbnail();
    const { json } = await api.submit({ ...submission, callback_url: url(0) });
    const answers = [await api.submit(submission)];
    for (const n of [0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      answers.push(await api.submit({ ...submission, callback_url: url(n) }));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(answers.map((answer) => answer.json.notice?.code as string | undefined)).toEqual([
      ...Array<undefined>(11).fill(undefined),
      'too_many_callbacks',
    ]);
    await api.complete(json.job_id, thumbnailResults);
    const sent = await events(json.job_id);
    expect(sent.map((event) => event.url)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].map(url));
    expect(new Set(sent.map((event) => event.id)).size).toBe(9);
    for (const { id, body } of sent) expect(body).toMatchObject({ event_id: id, job_id: json.job_id });
  });

  it('C11.45: a receiver that comes after the end is not called, and the answer says so', async () => {
    const submission = thumbnail();
    const { json } = await api.submit({ ...submission, callback_url: url(0) });
    await api.complete(json.job_id, thumbnailResults);
    const answers = [];
    for (const more of [{}, { callback_url: url(0) }, { callback_url: url(1) }])
      answers.push(await api.submit({ ...submission, ...more }));
    expect(answers.map((answer) => [answer.status, answer.json.status, answer.json.notice?.code])).toEqual([
      [200, 'completed', undefined],
      [200, 'completed', undefined],
      [200, 'completed', 'callback_too_late'],
    ]);
    expect((await events(json.job_id)).map((event) => event.url)).toEqual([url(0)]);
  });

  it('C21.24: callback_status, the list of attempts and a redelivery are of the first receiver', async () => {
    const { WebhookEventStore } = await import('#platform/postgres/webhook-event-store.ts');
    const submission = thumbnail({ callback_url: url(0) });
    const { json } = await api.submit(submission);
    await api.submit({ ...submission, callback_url: url(1) });
    await api.complete(json.job_id, thumbnailResults);
    const [first, further] = await events(json.job_id);
    const attempt = { delivery: 1, attempt: 1, startedAt: new Date(), durationMs: 1, statusCode: 500, error: 'x' };
    const store = new WebhookEventStore(api.d.database);
    await store.recordAttempt({ ...attempt, eventId: further?.id ?? '', next: 'failed' });
    const callbacks = `/api/jobs/${json.job_id}/callbacks`;
    expect((await api.call(callbacks)).json).toMatchObject({ callback_status: 'pending', event_id: first?.id });
    await store.recordAttempt({ ...attempt, eventId: first?.id ?? '', next: 'sent' });
    expect((await api.call(callbacks)).json.callback_status).toBe('sent');
    expect((await api.call(`${callbacks}/redeliver`, { method: 'POST' })).status).toBe(202);
    const due = 'select url from webhook_events where job_id = $1 and next_attempt_at is not null';
    expect((await api.d.database.pool.query(due, [json.job_id])).rows).toEqual([{ url: url(0) }]);
  });

  it('C11.38: a receiver that comes while the job ends is called, or gets its results', async () => {
    for (let round = 0; round < 8; round++) {
      const submission = thumbnail({ callback_url: url(0) });
      const { json } = await api.submit(submission);
      const [answer] = await Promise.all([
        api.submit({ ...submission, callback_url: url(1) }),
        api.complete(json.job_id, thumbnailResults),
      ]);
      const urls = (await events(json.job_id)).map((event) => event.url);
      expect([answer.status, answer.json.status === 'completed' || urls.includes(url(1))]).toEqual([200, true]);
    }
  });
});
