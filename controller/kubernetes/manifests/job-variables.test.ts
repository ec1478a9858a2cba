import { describe, expect, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { jobManifest, type JobTemplate, templateHash } from './job-manifest.ts';
import { templateAnnotation } from './names.ts';

const job: Job = {
  id: '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10',
  type: 'video:transcode',
  hash: 'h',
  source: 'a/price$$list $(HOME).mp4',
  options: { encrypt: true },
  status: 'processing',
  phase: 'scheduling',
  progress: 0,
  eta: null,
  attempt: 1,
  failures: 0,
  queue: 'default',
  sourceSizeBytes: 1,
  sourceEtag: '"$(LANG)"',
  profile: null,
  callbackUrl: null,
  callbackStatus: null,
  retryOfJobId: null,
  error: null,
  results: null,
  trace: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  startedAt: null,
  finishedAt: null,
  disruptions: 0,
  waitingReason: null,
  pool: null,
  priority: 0,
};
const mediaJob: MediaJob = {
  metadata: { name: 'mj', namespace: 'r', uid: 'u' },
  spec: { type: job.type, hash: job.hash, source: job.source },
};
const template: JobTemplate = {
  image: { name: 'runner:1', pullPolicy: 'IfNotPresent', pullSecrets: [] },
  serviceAccount: 'default',
  pod: {},
  caConfigMap: null,
  base: { LOG_LEVEL: 'info' },
  storage: { source: { SOURCE_BUCKET: 'up$loads' }, media: { MEDIA_BUCKET: 'media' } },
  credentials: { source: null, media: null },
  maxFileSizeBytes: 1_000,
  chunkSec: 60,
  pendingDeadlineMs: 3_600_000,
  ttlMs: 3_600_000,
};

const made = () =>
  jobManifest(
    {
      job,
      mediaJob,
      pool: { name: 'default', spec: { concurrency: 1 } },
      report: null,
      keyEndpoint: 'https://k/$1',
      part: null,
    },
    template,
  );

/**
 * What a container sees, as Kubernetes documents the field `env[].value`: `$(NAME)` of an earlier variable is replaced,
 * and `$$` is one `$`.
 */
function expand(variables: readonly { name: string; value?: string }[]): Record<string, string> {
  const seen: Record<string, string> = {};
  for (const { name, value = '' } of variables) {
    seen[name] = value.replaceAll(/\$\$|\$\(([^)]*)\)/g, (found, variable: string | undefined) =>
      variable === undefined ? '$' : (seen[variable] ?? found),
    );
  }
  return seen;
}

describe('the Job of an attempt', () => {
  it('the Job of an attempt keeps every dollar sign of its plain variables through the expansion of Kubernetes', () => {
    const { initContainers = [], containers } = made().spec?.template.spec ?? { containers: [] };
    for (const container of [...initContainers, ...containers]) {
      const seen = expand(container.env ?? []);
      expect(JSON.parse(seen['RUNNER_TASK'] ?? '')).toMatchObject({
        source: { key: job.source, etag: job.sourceEtag },
      });
      if (container.name === 'fetch') expect(seen['SOURCE_BUCKET']).toBe('up$loads');
      if (container.name === 'publish') expect(seen['KEY_ENDPOINT']).toBe('https://k/$1');
    }
  });

  it('carries a hash of its settings, which ignores the concurrency of the pool', () => {
    const hash = templateHash({ concurrency: 1 }, template);
    expect(made().metadata?.annotations?.[templateAnnotation]).toBe(hash);
    expect(templateHash({ concurrency: 9 }, template)).toBe(hash);
    expect(templateHash({ concurrency: 1, nodeSelector: { a: 'b' } }, template)).not.toBe(hash);
    expect(templateHash({ concurrency: 1 }, { ...template, image: { ...template.image, name: 'runner:2' } })).not.toBe(
      hash,
    );
  });
});
