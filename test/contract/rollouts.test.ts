import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Rollouts": its routes. What a worker does is in test/integration/rollouts.test.ts.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi({
    mediaProfiles: mediaProfilesSchema.parse({
      profiles: { small: { crf: 30 }, measured: { quality: { report: true } } },
    }),
  });
});
afterAll(() => api.close());

const post = (path: string, body?: object) =>
  api.call(path, {
    method: 'POST',
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
const begun = async (body: object = { to_profile: 'small' }) =>
  (await post('/api/rollouts', body)).json.rollout_id as string;

describe('rollouts', () => {
  it('C32.1: `POST /api/rollouts` answers 202 with the rollout, and names its address', async () => {
    const which = { hash_prefix: 'movie-', profile: 'default', made_before: '2026-01-01T00:00:00Z' };
    const answer = await post('/api/rollouts', { which, to_profile: 'small', canary: { share: 0.1 } });
    expect(answer.status).toBe(202);
    // It counts against the limit on submissions.
    expect(answer.headers.get('ratelimit')).toMatch(/^"rollouts";r=\d+;/);
    const { json } = answer;
    expect(answer.headers.get('location')).toBe(`/api/rollouts/${json.rollout_id}`);
    expect(json).toMatchObject({
      status: 'canary',
      paused: false,
      spec: {
        which,
        to_profile: 'small',
        budget: { jobs: 1 },
        canary: { share: 0.1, max_failure_share: 0.05 },
      },
      is_planned: false,
      media: { planned: 0, running: 0, done: 0, failed: 0, bytes: { saved: 0 }, score: { mean: null } },
      gate: null,
      finished_at: null,
    });
    expect((await post('/api/rollouts', { to_profile: 'small' })).json).toMatchObject({
      status: 'running',
      canary: null,
    });
  });

  it('C32.1: the profile is the one that has the name when the rollout begins', async () => {
    const id = await begun();
    expect((await api.d.rollouts.find(id))?.profile).toMatchObject({ name: 'small', crf: 30 });
    expect((await api.d.rollouts.find(await begun({ to_profile: 'default' })))?.profile).toBeNull();
  });

  it('C32.2: a fault is 400 with its field, and a profile that does not exist with those that do', async () => {
    const cases: [object, string][] = [
      [{}, '/to_profile'],
      [{ to_profile: 'smal' }, '/to_profile'],
      [{ to_profile: 'small', budget: { jobs: 0 } }, '/budget/jobs'],
      [{ to_profile: 'small', budget: { hours_per_day: 0 } }, '/budget/hours_per_day'],
      [{ to_profile: 'small', canary: { share: 0 } }, '/canary/share'],
      [{ to_profile: 'small', canary: { share: 1.1 } }, '/canary/share'],
      [{ to_profile: 'small', which: { hash_prefix: 'a/b' } }, '/which/hash_prefix'],
      [{ to_profile: 'small', which: { made_before: 'yesterday' } }, '/which/made_before'],
      [{ to_profile: 'small', which: { tool_version: 'v1' } }, '/which/tool_version'],
      [{ to_profile: 'small', which: { tool_version_before: '1.4.0' } }, '/which/tool_version_before'],
      [{ to_profile: 'small', which: { made_befor: '2026-01-01T00:00:00Z' } }, '/which/made_befor'],
    ];
    for (const [body, pointer] of cases) {
      const { status, json } = await post('/api/rollouts', body);
      expect([status, json.errors?.map((fault: { pointer: string }) => fault.pointer)]).toEqual([400, [pointer]]);
    }
    expect((await post('/api/rollouts', { to_profile: 'smal' })).json.errors[0].detail).toContain('small');
  });

  it('C32.20: `POST /api/rollouts/plan` answers 200 with what the rollout would do, and begins none', async () => {
    const before = (await api.call('/api/rollouts?limit=100')).json.rollouts.length;
    const { status, json } = await post('/api/rollouts/plan', { to_profile: 'small', which: { hash_prefix: 'none-' } });
    expect([status, json]).toEqual([
      200,
      {
        spec: { which: { hash_prefix: 'none-' }, to_profile: 'small', budget: { jobs: 1 } },
        is_whole: true,
        looked_at: 0,
        media: 0,
        not_chosen: {},
        source_hours: 0,
        unmeasured: 0,
        bytes: { now: 0, expected: null },
        processor_hours: null,
        estimated_from: null,
      },
    ]);
    const refused = await post('/api/rollouts/plan', { to_profile: 'smal' });
    expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '/to_profile']);
    expect((await api.call('/api/rollouts?limit=100')).json.rollouts).toHaveLength(before);
  });

  it('C32.22: `min_score` with a profile that measures none is 400, for a rollout and for its plan', async () => {
    for (const path of ['/api/rollouts', '/api/rollouts/plan']) {
      const { status, json } = await post(path, { to_profile: 'small', canary: { share: 0.1, min_score: 80 } });
      expect([status, json.errors?.[0]]).toMatchObject([400, { pointer: '/canary/min_score', code: 'no_score' }]);
    }
    const measured = { to_profile: 'measured', canary: { share: 0.1, min_score: 80 } };
    expect((await post('/api/rollouts', measured)).status).toBe(202);
  });

  it('C32.7: `GET /api/rollouts/{id}` answers with the rollout and its last failures; an unknown one is 404', async () => {
    const { status, json } = await api.call(`/api/rollouts/${await begun()}`);
    expect([status, json.failures, json.hours_today]).toEqual([200, [], 0]);
    for (const id of [randomUUID(), 'none']) {
      expect((await api.call(`/api/rollouts/${id}`)).status).toBe(404);
      expect((await post(`/api/rollouts/${id}/pause`)).status).toBe(404);
    }
  });

  it('C32.15: `GET /api/rollouts` lists them by cursor, the newest first', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push(await begun());
    const first = (await api.call('/api/rollouts?limit=2')).json;
    expect(first.rollouts.map((one: { rollout_id: string }) => one.rollout_id)).toEqual([ids[2], ids[1]]);
    const second = (await api.call(`/api/rollouts?limit=1&cursor=${first.next_cursor}`)).json;
    expect(second.rollouts[0].rollout_id).toBe(ids[0]);
    const all = (await api.call('/api/rollouts?limit=100')).json;
    expect(all.next_cursor).toBeNull();
    expect((await api.call('/api/rollouts?cursor=x')).status).toBe(400);
  });

  it('C32.10: pause and resume answer with the rollout, as often as they are asked for', async () => {
    const id = await begun();
    for (const paused of [true, true, false, false]) {
      const { status, json } = await post(`/api/rollouts/${id}/${paused ? 'pause' : 'resume'}`);
      expect([status, json.paused]).toEqual([200, paused]);
    }
    // One that ends is not paused any more.
    await post(`/api/rollouts/${id}/pause`);
    expect((await post(`/api/rollouts/${id}/cancel`)).json).toMatchObject({ status: 'cancelling', paused: false });
  });

  it('C32.11, C32.12: rollback and cancel begin at once, once, and an action that the status does not allow is 409', async () => {
    const id = await begun();
    for (const _ of [1, 2]) expect((await post(`/api/rollouts/${id}/cancel`)).json.status).toBe('cancelling');
    const ended = await begun();
    await post(`/api/rollouts/${ended}/cancel`);
    await api.d.rollouts.move(ended, 'cancelled');
    expect((await post(`/api/rollouts/${ended}/cancel`)).json.status).toBe('cancelled');
    expect((await post(`/api/rollouts/${id}/pause`)).json).toMatchObject({ status: 409, code: 'conflict' });
    for (const _ of [1, 2]) expect((await post(`/api/rollouts/${id}/rollback`)).json.status).toBe('rolling_back');
    await api.d.rollouts.move(id, 'rolled_back');
    expect((await post(`/api/rollouts/${id}/rollback`)).json.status).toBe('rolled_back');
    expect((await post(`/api/rollouts/${id}/cancel`)).status).toBe(409);
    const { json } = await api.call(`/api/rollouts/${id}`);
    expect([json.reason, json.finished_at === null]).toEqual(['It was asked to roll back.', false]);
  });
});
