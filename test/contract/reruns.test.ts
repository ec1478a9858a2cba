import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { imageKey, videoKey } from '#domain/media/object-keys.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { thumbnailResults } from './results.ts';

// docs/reference/contract.md, "Make again".

let api: ApiUnderTest;
let counter = 0;
const hashOf = () => `again-${counter++}`;
const thumbnail = (more: object = {}) => ({ type: 'image:thumbnail', hash: hashOf(), source: 'a.jpg', ...more });

beforeAll(async () => {
  const rules = [{ source_prefix: 'phone/', profile: 'mobile' }];
  api = await startApi({ mediaProfiles: mediaProfilesSchema.parse({ profiles: { small: { crf: 30 } }, rules }) });
  await api.putSource('video.mp4', Buffer.alloc(100));
});
afterAll(() => api.close());

const rerun = (id: string, body: object = {}) =>
  api.call(`/api/jobs/${id}/rerun`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const shown = async (id: string, query = '') => (await api.call(`/api/jobs/${id}${query}`)).json;

/** A submission whose job has completed, and the id of that. */
async function completed(submission: object = thumbnail(), results: JobResults = thumbnailResults) {
  const id = (await api.submit(submission)).json.job_id as string;
  await api.complete(id, results);
  return { submission, id };
}

function variantOf(hash: string): JobResults<'image:thumbnail'> {
  const key = imageKey(hash, '0123456789abcdef', { variant: 'thumb', format: 'webp' });
  return { ...thumbnailResults, key, outputs: thumbnailResults.outputs.map((output) => ({ ...output, key })) };
}

describe('`POST /api/jobs/{id}/rerun`', () => {
  it('C13.29: a rerun of a completed or failed job is a new job of the same request, and names it', async () => {
    const submission = thumbnail({ callback_url: 'https://example.com/hook' });
    const { id } = await completed(submission);
    const failedId = (await api.submit(thumbnail())).json.job_id as string;
    await api.fail(failedId);
    for (const earlier of [id, failedId]) {
      const answer = await rerun(earlier, { reason: 'objects were lost' });
      expect(answer.status).toBe(202);
      const newId = answer.json.job_id as string;
      expect(answer.json).toEqual({
        job_id: newId,
        type: 'image:thumbnail',
        status: 'queued',
        rerun_of_job_id: earlier,
      });
      expect(answer.headers.get('location')).toBe(`/api/jobs/${newId}`);
      const [old, made] = await Promise.all([api.d.jobs.find(earlier), api.d.jobs.find(newId)]);
      for (const field of ['type', 'hash', 'source', 'options', 'callbackUrl'] as const)
        expect([field, made?.[field]]).toEqual([field, old?.[field]]);
      expect(made).toMatchObject({ rerunReason: 'objects were lost', retryOfJobId: null });
      expect((await shown(newId)).rerun_of_job_id).toBe(earlier);
    }
  });

  it('C13.30: the source is measured again', async () => {
    await api.putSource('phone/grown.mp4', Buffer.alloc(100));
    const { json } = await api.submit({ type: 'video:transcode', hash: hashOf(), source: 'phone/grown.mp4' });
    await api.fail(json.job_id);
    const before = await api.d.jobs.find(json.job_id);
    await api.putSource('phone/grown.mp4', Buffer.alloc(3000, 1));
    const named = (await rerun(json.job_id, { profile: 'small' })).json.job_id as string;
    const after = await api.d.jobs.find(named);
    expect(after).toMatchObject({ queue: 'video:large', sourceSizeBytes: 3000, profile: { name: 'small' } });
    expect(after?.sourceEtag).not.toBe(before?.sourceEtag);
    expect((await shown(named)).source_etag).toBe(after?.sourceEtag);
  });

  it('C13.30: profile, pool and priority are kept, where no profile is named', async () => {
    const request = { type: 'video:transcode', hash: hashOf(), source: 'phone/grown.mp4' };
    await api.putSource(request.source, Buffer.alloc(100));
    const { json } = await api.submit(request, { 'x-profile': 'small', 'x-priority': '7' });
    await api.fail(json.job_id);
    const kept = (await rerun(json.job_id)).json.job_id as string;
    expect(await api.d.jobs.find(kept)).toMatchObject({ priority: 7, profile: { name: 'small' } });
    await api.fail(kept);
    // The rules choose in place of a profile that was deleted, and a rollout's priority is its own.
    const deleted = `update jobs set profile = '{"name": "deleted"}', priority = -1000 where id = $1`;
    await api.d.database.pool.query(deleted, [kept]);
    const chosen = (await rerun(kept)).json.job_id as string;
    expect(await api.d.jobs.find(chosen)).toMatchObject({ priority: 0, profile: { name: 'mobile' } });
    await api.fail(chosen);
    const hurried = (await rerun(chosen, { priority: 9 })).json.job_id as string;
    expect(await api.d.jobs.find(hurried)).toMatchObject({ priority: 9 });
    expect((await rerun(chosen, { priority: 1001 })).json.errors[0].pointer).toBe('/priority');
  });

  it('C13.31: reruns asked for at once make one job', async () => {
    const { id } = await completed();
    const answers = await Promise.all(Array.from({ length: 8 }, () => rerun(id)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
    expect(new Set(answers.map(({ json }) => json.job_id as string)).size).toBe(1);
    const made = answers[0]?.json.job_id as string;
    await api.fail(made);
    expect((await rerun(id)).status).toBe(202);
  });

  it('C13.31: a rerun by another profile than the one that is under way is 409, which names both ways out', async () => {
    const { json } = await api.submit({ type: 'video:transcode', hash: hashOf(), source: 'video.mp4' });
    await api.fail(json.job_id);
    const { json: underWay } = await rerun(json.job_id, { profile: 'small' });
    for (const body of [{ profile: 'mobile' }, {}]) {
      const refused = await rerun(json.job_id, body);
      expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
      expect(refused.json.detail).toContain(`${underWay.job_id} is under way by the profile small`);
    }
    const same = await rerun(json.job_id, { profile: 'small' });
    expect([same.status, same.json.job_id]).toEqual([200, underWay.job_id]);
  });

  it('C13.33: the earlier job answers equal submissions until the rerun has completed, which then does', async () => {
    const { submission, id } = await completed();
    const first = (await rerun(id)).json.job_id as string;
    expect((await api.submit(submission)).json).toMatchObject({ job_id: id, status: 'completed' });
    await api.fail(first);
    expect((await api.submit(submission)).json.job_id).toBe(id);
    const second = (await rerun(id)).json.job_id as string;
    await api.complete(second, thumbnailResults);
    expect((await api.submit(submission)).json).toMatchObject({ job_id: second, status: 'completed' });
    // The earlier job can be read as before, and a rerun of either is one of both.
    expect(await shown(id)).toMatchObject({ status: 'completed', results: thumbnailResults });
    const [one, other] = [await rerun(id), await rerun(second)];
    expect([one.status, other.status, other.json.job_id]).toEqual([202, 200, one.json.job_id]);
  });

  it('C13.33: an active equal job goes on to answer where a rerun of a failed one completes meanwhile', async () => {
    const submission = thumbnail();
    const failed = (await api.submit(submission)).json.job_id as string;
    await api.fail(failed);
    const again = (await rerun(failed)).json.job_id as string;
    const active = (await api.submit(submission)).json.job_id as string;
    await api.complete(again, thumbnailResults);
    expect((await api.submit(submission)).json.job_id).toBe(active);
    await api.complete(active, thumbnailResults);
    expect((await api.submit(submission)).json.job_id).toBe(active);
  });

  it('a retry of a failed rerun is a rerun of the same job', async () => {
    const { id } = await completed();
    const failed = (await rerun(id)).json.job_id as string;
    await api.fail(failed);
    const { json } = await api.call(`/api/jobs/${failed}/retry`, { method: 'POST' });
    const retried = await shown(json.jobs[0].job_id);
    expect(retried).toMatchObject({ status: 'queued', retry_of_job_id: failed, rerun_of_job_id: id });
  });

  it('C13.34: a rerun of an active or cancelled job, or of a source that is deleted, is 409', async () => {
    const active = (await api.submit(thumbnail())).json.job_id as string;
    expect([(await rerun(active)).status, (await rerun(active)).json.code]).toEqual([409, 'conflict']);
    await api.call(`/api/jobs/${active}/cancel`, { method: 'POST' });
    expect((await rerun(active)).json.code).toBe('conflict');
    await api.putSource('deleted.mp4', 'x');
    const { json } = await api.submit({ type: 'video:cover', hash: hashOf(), source: 'deleted.mp4' });
    await api.fail(json.job_id);
    await api.d.source.delete(['deleted.mp4']);
    const refused = await rerun(json.job_id);
    expect([refused.status, refused.json.code]).toEqual([409, 'not_retryable']);
    expect((await rerun('00000000-0000-4000-8000-000000000000')).status).toBe(404);
  });

  it('C13.34: a profile that does not exist is 400 with those that do, and other fields are refused', async () => {
    const { id } = await completed();
    const { status, json } = await rerun(id, { profile: 'smal' });
    expect([status, json.errors]).toMatchObject([400, [{ pointer: '/profile', code: 'unknown_profile' }]]);
    expect(json.errors[0].detail).toContain('small');
    for (const body of [{ priority: 'high' }, { reason: 'x'.repeat(201) }, { reason: 'two\nlines' }])
      expect([(await rerun(id, body)).status, JSON.stringify(body)]).toEqual([400, JSON.stringify(body)]);
    expect((await shown(id)).status).toBe('completed');
  });

  it('C23.1: reruns count against the limit of the key', async () => {
    const limited = await startApi({ apiRateLimitPerMinute: 1 });
    const path = '/api/jobs/00000000-0000-4000-8000-000000000000/rerun';
    const statuses = [];
    for (let n = 0; n < 2; n++) statuses.push((await limited.call(path, { method: 'POST' })).status);
    await limited.close();
    expect(statuses).toEqual([404, 429]);
  });
});

const noAnswer = () => Promise.reject(new Error('the storage is away'));

describe('what a job says of its buckets', () => {
  it('C13.35: `check=source` says whether the source is another one now', async () => {
    await api.putSource('watched.mp4', 'one');
    const { json } = await api.submit({ type: 'video:cover', hash: hashOf(), source: 'watched.mp4' });
    const id = json.job_id as string;
    expect(await shown(id)).not.toHaveProperty('source_changed');
    expect((await shown(id, '?check=source')).source_changed).toBe(false);
    await api.putSource('watched.mp4', 'another');
    expect((await shown(id, '?check=source')).source_changed).toBe(true);
    await api.d.source.delete(['watched.mp4']);
    expect((await shown(id, '?check=source')).source_changed).toBeNull();
    // Of an image job nothing is measured at submission.
    await api.putSource('unmeasured.jpg', 'an image');
    const { id: unmeasured } = await completed(thumbnail({ source: 'unmeasured.jpg' }));
    expect((await shown(unmeasured, '?check=source')).source_changed).toBeNull();
    expect((await api.call(`/api/jobs/${id}?check=all`)).json.errors).toMatchObject([{ pointer: '/check' }]);
  });

  it('C13.36: `check=results` says whether the objects of the results are lost', async () => {
    const hash = hashOf();
    const results = variantOf(hash);
    await api.putMedia(results.key, 'an image');
    const { id } = await completed(thumbnail({ hash }), results);
    expect(await shown(id)).not.toHaveProperty('results_missing');
    expect((await shown(id, '?check=source,results')).results_missing).toBe(false);
    await api.d.media.delete([results.key]);
    expect((await shown(id, '?check=results')).results_missing).toBe(true);
    const streamHash = hashOf();
    const cover = { key: videoKey(streamHash, '0123456789abcdef', 'cover.jpg'), format: 'jpg', size: 1 } as const;
    const video = { type: 'video:cover', hash: streamHash, source: 'video.mp4' };
    const { id: videoId } = await completed(video, { ...cover, width: 1, height: 1, timestamp_sec: 0 });
    expect((await shown(videoId, '?check=results')).results_missing).toBe(true);
  });

  it('C13.37: a storage that does not answer leaves the fields out', async () => {
    const { id } = await completed();
    await api.d.database.pool.query(`update jobs set source_etag = '"1"' where id = $1`, [id]);
    const [source, media] = [api.d.source.head.bind(api.d.source), api.d.media.head.bind(api.d.media)];
    Object.assign(api.d.source, { head: noAnswer });
    Object.assign(api.d.media, { head: noAnswer });
    const job = await shown(id, '?check=source,results');
    Object.assign(api.d.source, { head: source });
    Object.assign(api.d.media, { head: media });
    expect(job).toMatchObject({ job_id: id, status: 'completed' });
    expect(Object.keys(job)).not.toContain('source_changed');
    expect(Object.keys(job)).not.toContain('results_missing');
  });
});

async function lost() {
  const hash = hashOf();
  const results = variantOf(hash);
  const { submission, id } = await completed(thumbnail({ hash }), results);
  return { submission, id, key: results.key };
}

describe('a submission whose completed job has lost its results', () => {
  it('C13.38: the answer says so, and no longer once the object is there', async () => {
    const { submission, id, key } = await lost();
    expect((await api.submit(submission)).json).toMatchObject({ job_id: id, results_missing: true });
    await api.putMedia(key, 'an image');
    expect((await api.submit(submission)).json).toMatchObject({ job_id: id, results_missing: false });
  });

  it('C13.38: with REPAIR_MISSING it makes a rerun, once, which hears of its callback_url', async () => {
    const { submission, id } = await lost();
    const { config } = api.d as { config: { repairMissing: boolean } };
    config.repairMissing = true;
    const callbackUrl = 'https://example.com/repaired';
    const answers = await Promise.all([1, 2, 3].map(() => api.submit({ ...submission, callback_url: callbackUrl })));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    const ids = new Set(answers.map(({ json }) => json.job_id as string));
    expect(ids.size).toBe(1);
    const [made = ''] = ids;
    expect(await api.d.jobs.find(made)).toMatchObject({ rerunOfJobId: id, status: 'queued', callbackUrl });
    // A source that is deleted cannot be made again.
    const hash = hashOf();
    const key = videoKey(hash, '0123456789abcdef', 'cover.jpg');
    await api.putSource('once.mp4', 'x');
    const video = { type: 'video:cover', hash, source: 'once.mp4' };
    const cover = await completed(video, { key, format: 'jpg', size: 1, width: 1, height: 1, timestamp_sec: 0 });
    await api.d.source.delete(['once.mp4']);
    expect((await api.submit(video)).json).toMatchObject({ job_id: cover.id, results_missing: true });
    config.repairMissing = false;
  });

  it('C13.38: with REPAIR_MISSING nothing is made again while the storage does not answer', async () => {
    const { submission, id } = await lost();
    const { config } = api.d as { config: { repairMissing: boolean } };
    const head = api.d.media.head.bind(api.d.media);
    config.repairMissing = true;
    Object.assign(api.d.media, { head: noAnswer });
    const answer = await api.submit(submission);
    Object.assign(api.d.media, { head });
    config.repairMissing = false;
    expect([answer.status, answer.json]).toMatchObject([200, { job_id: id, status: 'completed' }]);
    expect(Object.keys(answer.json)).not.toContain('results_missing');
  });
});
