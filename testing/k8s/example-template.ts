import type { JobTemplate } from '../../controller/kubernetes/manifests/job-template.ts';

/** The template of every Job of a test; a test that asks for another value gives its own. */
export const exampleTemplate: JobTemplate = {
  image: { name: 'runner:1', pullPolicy: 'IfNotPresent', pullSecrets: [] },
  serviceAccount: 'runner',
  pod: {},
  caConfigMap: null,
  base: {},
  storage: { source: { SOURCE_BUCKET: 'uploads' }, media: { MEDIA_BUCKET: 'media' } },
  credentials: { source: 'source-keys', media: 'media-keys' },
  maxFileSizeBytes: 1_000_000,
  chunkSec: 60,
  pendingDeadlineMs: 3_600_000,
  ttlMs: 3_600_000,
};
