import { describe, expect, it } from 'vitest';
import type { BucketSettings } from './storage-settings.ts';
import { parseUploadSettings } from './upload-settings.ts';

const s3 = {
  endpoint: 'http://s3:9000',
  region: 'eu-1',
  keys: { accessKeyId: 'reader', secretAccessKey: 'of the reader' },
  forcePathStyle: true,
  checksums: 'when_supported',
  timeoutMs: 30_000,
  chainVariables: {},
} as const;
const bucket: BucketSettings = { bucket: 'source', s3 };
const folder: BucketSettings = { bucket: 'file:/data/source', dir: '/data/source' };
const keys = { UPLOAD_S3_ACCESS_KEY_ID: 'writer', UPLOAD_S3_SECRET_ACCESS_KEY: 'of-the-writer' };

function uploads(env: Record<string, string>, source = bucket) {
  const read = parseUploadSettings(env, source);
  if ('faults' in read) throw new Error(read.faults.join('; '));
  return read.uploads;
}

describe('where uploads go', () => {
  it('uploads are off unless a bucket or keys of their own are named', () => {
    expect([uploads({}), uploads({ UPLOAD_PREFIX: 'in/' }), uploads({}, folder)]).toEqual([null, null, null]);
  });

  it('keys alone turn uploads to the source bucket on, with that right', () => {
    expect(uploads(keys)).toEqual({
      store: { bucket: 'source', s3: { ...s3, keys: { accessKeyId: 'writer', secretAccessKey: 'of-the-writer' } } },
      publicEndpoint: undefined,
      prefix: 'uploads/',
      expiryMs: 86_400_000,
      openMax: 100,
    });
  });

  it('a bucket without keys is opened by the chain of the SDK, never with the keys that only read', () => {
    const env = { UPLOAD_BUCKET: 'source', AWS_ROLE_ARN: 'arn:aws:iam::1:role/w' };
    expect(uploads(env)?.store.s3).toMatchObject({
      keys: undefined,
      chainVariables: { AWS_ROLE_ARN: env.AWS_ROLE_ARN },
    });
  });

  it('a folder is named as such', () => {
    expect(uploads({ UPLOAD_BUCKET: 'file:/data/source' }, folder)?.store).toEqual(folder);
  });

  it.each([
    [{ UPLOAD_BUCKET: 'file:/data' }, bucket, 'UPLOAD_BUCKET: expected a bucket beside a bucket'],
    [{ UPLOAD_BUCKET: 'other' }, folder, 'UPLOAD_BUCKET: expected a bucket beside a bucket'],
    [{ UPLOAD_S3_ACCESS_KEY_ID: 'writer' }, bucket, 'UPLOAD_S3_SECRET_ACCESS_KEY: expected together'],
    [{ ...keys, UPLOAD_PREFIX: '/a/' }, bucket, 'UPLOAD_PREFIX: expected the beginning'],
    [{ ...keys, UPLOAD_PREFIX: 'a/../b/' }, bucket, 'UPLOAD_PREFIX: expected the beginning'],
    [{ ...keys, UPLOAD_PREFIX: '../b/' }, bucket, 'UPLOAD_PREFIX: expected the beginning'],
    [{ ...keys, UPLOAD_PREFIX: 'a' }, bucket, 'UPLOAD_PREFIX: expected the beginning'],
    [{ ...keys, UPLOAD_PREFIX: 'a//' }, bucket, 'UPLOAD_PREFIX: expected the beginning'],
  ])('%j is a fault', (env, source, fault) => {
    expect(() => uploads(env, source)).toThrow(fault);
  });
});
