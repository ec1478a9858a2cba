import { expect, it } from 'vitest';
import { type Config, loadConfig } from '#platform/config/config.ts';

// docs/reference/contract.md, "Limits": the limits of a service that sets none.

/** The configuration when only what has no default is set, and `more`. */
function defaults(more: Record<string, string> = {}): Config {
  const needed = {
    API_KEY: 'an api key of this test',
    KEY_TOKEN_SECRET: 'a token secret of this test',
    WEBHOOK_SECRET: 'a webhook secret of this test',
    ENCRYPTION_KEY: 'an encryption key of this test',
    DATABASE_URL: 'postgres://db/x',
    REDIS_URL: 'redis://redis',
    BASE_URL: 'https://media.example',
    SOURCE_BUCKET: 'source',
    MEDIA_BUCKET: 'media',
  };
  const loaded = loadConfig({ ...needed, ...more }, []);
  if ('faults' in loaded) throw new Error(loaded.faults.join(', '));
  return loaded.config as Config;
}

const gib = 1024 ** 3;

it('C23.1, C23.2, C23.14, C23.11, C23.12, C21.11: the limits have their documented defaults', () => {
  expect(defaults()).toMatchObject({
    apiRateLimitPerMinute: 30,
    keyRateLimitPerMinute: 120,
    batchRateLimitPerMinute: 10,
    maxFileSizeBytes: 20 * gib,
    largeVideoThresholdBytes: 2 * gib,
    webhookBackoffMs: [0, 5_000, 30_000, 180_000, 1_080_000],
    workerConcurrency: 4,
    largeWorkerConcurrency: 1,
  });
});

it('C23.11: MAX_FILE_SIZE and LARGE_VIDEO_THRESHOLD take bytes or a size such as 500MiB', () => {
  const sizes = { MAX_FILE_SIZE: '500MiB', LARGE_VIDEO_THRESHOLD: '1048576' };
  expect(defaults(sizes)).toMatchObject({ maxFileSizeBytes: 500 * 1024 ** 2, largeVideoThresholdBytes: 1024 ** 2 });
  expect(() => defaults({ MAX_FILE_SIZE: '500 megabytes' })).toThrow('MAX_FILE_SIZE');
});
