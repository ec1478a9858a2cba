import { describe, expect, it } from 'vitest';
import { exampleTemplate } from '../../../testing/k8s/example-template.ts';
import { exampleJob } from '../../../testing/example-job.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { jobManifest, jobManifestsOf } from './job-manifest.ts';
import { type JobTemplate, templateHash } from './job-template.ts';
import { templateAnnotation } from '../snapshots/names.ts';

const job = exampleJob({
  type: 'video:transcode',
  source: 'a/price$$list $(HOME).mp4',
  options: { encrypt: true },
  sourceSizeBytes: 1,
  sourceEtag: '"$(LANG)"',
});
const mediaJob: MediaJob = {
  metadata: { name: 'mj', namespace: 'r', uid: 'u' },
  spec: { type: job.type, hash: job.hash, source: job.source },
};
const template: JobTemplate = {
  ...exampleTemplate,
  serviceAccount: 'default',
  base: { LOG_LEVEL: 'info' },
  storage: { source: { SOURCE_BUCKET: 'up$loads' }, media: { MEDIA_BUCKET: 'media' } },
  credentials: { source: null, media: null },
  maxFileSizeBytes: 1_000,
};

const made = () =>
  jobManifest(
    {
      job,
      mediaJob,
      pool: { name: 'default', spec: { concurrency: 1 } },
      report: null,
      keyEndpoint: 'https://k/$1',
      units: { kind: 'whole', split: null, chunks: [], parallelism: 1 },
    },
    template,
  );

/**
 * The variables that a container sees, as Kubernetes documents the field `env[].value`: `$(NAME)` of an earlier
 * variable is replaced, and `$$` is one `$`.
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

  it('the Job of an attempt carries a hash of its settings, which ignores the concurrency of the pool', () => {
    const hash = templateHash({ concurrency: 1 }, template);
    expect(made().metadata?.annotations?.[templateAnnotation]).toBe(hash);
    expect(templateHash({ concurrency: 9 }, template)).toBe(hash);
    const manifests = jobManifestsOf(template);
    const isOf = (annotations: Record<string, string>, nodeSelector = {}) =>
      manifests.isOutdated({ annotations }, { concurrency: 9, nodeSelector });
    const made9 = templateHash({ concurrency: 9, nodeSelector: {} }, template);
    expect(isOf({ [templateAnnotation]: made9 })).toBe(false);
    expect(isOf({ [templateAnnotation]: made9 }, { a: 'b' })).toBe(true);
    // Of a version without hashes: it cannot be said.
    expect(isOf({})).toBe(false);
    expect(templateHash({ concurrency: 1, nodeSelector: { a: 'b' } }, template)).not.toBe(hash);
    expect(templateHash({ concurrency: 1 }, { ...template, image: { ...template.image, name: 'runner:2' } })).not.toBe(
      hash,
    );
  });
});

const isOfOtherVersion = (name: string, metadata: object) =>
  jobManifestsOf({ ...exampleTemplate, image: { ...exampleTemplate.image, name } }).isOfOtherVersion(metadata);

it('a Job is of another version when its runner has another image, or was made before that was recorded', () => {
  const current = { annotations: { 'reelwright.dev/runner-image': 'runner:2' } };
  const found = [isOfOtherVersion('runner:2', current), isOfOtherVersion('runner:1', current)];
  expect([...found, isOfOtherVersion('runner:2', {})]).toEqual([false, true, true]);
});
