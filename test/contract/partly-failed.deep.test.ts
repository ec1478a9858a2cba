import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';
import { finished, headers, prepareService, type ServiceUnderTest, submit } from './service-under-test.ts';

// The results of a job that has failed in part, of a program whose packager always fails.

let service: ServiceUnderTest;
beforeAll(async () => {
  service = await prepareService();
});
afterAll(async () => {
  await endPrograms();
  await service.close();
});

describe.skipIf(!inject('postgres'))('a job that has failed in part', () => {
  it('C15.12, C15.13: a failed stage of a video:full is named, the others are ready, and a retry does the rest', async () => {
    const broken = await startProgram({
      env: { ...service.env, PACKAGER_PATH: '/bin/false', WORKER_CONCURRENCY: '4' },
    });
    const id = await submit(broken, { type: 'video:full', hash: 'partly-1', source: 'clip.mp4' });
    const failed = await finished(broken, id);
    broken.signal('SIGTERM');
    expect(await broken.ended).toBe(0);
    const program = await startProgram({ env: service.env });
    const imageKey = (key: string) =>
      program.url + signThumbPath(key, { w: 16 }, thumbSecretsOf([], secrets.KEY_TOKEN_SECRET)[0] ?? '');

    expect(failed).toMatchObject({ status: 'failed', error: { code: 'packager_error', stage: 'transcode' } });
    const { stages, artifacts, retry_plan: plan } = failed.results;
    const ready = { status: 'ready' };
    const transcode = { status: 'failed', error: 'packager_error', retryable: true };
    expect(stages).toEqual({ source: ready, cover: ready, preview: ready, transcode });
    expect(plan).toEqual({
      allowed: true,
      strategy: 'retry_tasks',
      job_types: ['video:transcode'],
      stages: ['transcode'],
      reason: expect.any(String) as string,
    });
    for (const { key } of [artifacts.cover, artifacts.preview]) expect((await fetch(imageKey(key))).status).toBe(200);
    expect((await fetch(`${program.url}/stream/partly-1/master.m3u8`)).status).toBe(404);

    const retry = await fetch(`${program.url}/api/jobs/${id}/retry`, { method: 'POST', headers });
    const { jobs } = (await retry.json()) as { jobs: [{ job_id: string }] };
    expect(jobs).toMatchObject([{ type: 'video:transcode', retry_of_job_id: id }]);
    expect(await finished(program, jobs[0].job_id)).toMatchObject({ status: 'completed', retry_of_job_id: id });
    expect((await fetch(`${program.url}/stream/partly-1/master.m3u8`)).status).toBe(200);
  });
});
