import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { resultManifestKey, revisionOf, videoFolder } from '#domain/media/object-keys.ts';
import { openFolderStore } from '#platform/storage/folder/folder-store.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { completeAttempt } from './complete-attempt.ts';

describe('the objects of a result manifest', () => {
  let folder: string;
  afterEach(() => rm(folder, { recursive: true }));

  it('objects of a manifest are compared with the revisions of thousands of attempts in seconds', async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-completion-'));
    const media = openFolderStore(folder);
    const job = { id: crypto.randomUUID(), type: 'video:transcode', hash: 'long-video', attempt: 20_000 } as Job;
    const rev = revisionOf(job.id, job.attempt);
    const segments = { extension: 'm4s', sizes: Array<number>(50_000).fill(1) };
    const inFolder = `${videoFolder(job.hash, revisionOf(job.id, 1))}video/`;
    const manifest = {
      v: 2,
      job_id: job.id,
      attempt: job.attempt,
      type: job.type,
      hash: job.hash,
      rev,
      status: 'failed',
      results: null,
      error: jobErrorOf('internal', 1),
      tool_version: '0.1.0',
      folders: [{ folder: inFolder, files: [], segments, sha256: '0'.repeat(64) }],
    };
    const key = resultManifestKey(job.id, job.attempt);
    await media.put(key, JSON.stringify(manifest), { contentType: 'application/json' });
    const startMs = performance.now();
    const completion = await completeAttempt(
      { job, attempt: job.attempt },
      { jobs: { finish: () => Promise.resolve(null) }, media, metrics: new Metrics(), randomUuid: () => job.id },
    );
    expect(completion).toMatchObject({ outcome: 'not_whole', reason: `${inFolder}seg_1.m4s does not exist` });
    // A comparison of each object with each revision takes minutes.
    expect(performance.now() - startMs).toBeLessThan(20_000);
  }, 30_000);
});
