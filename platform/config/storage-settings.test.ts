import { describe, expect, it } from 'vitest';
import { readStorageSettings, storageEnvironment } from './storage-settings.ts';

const bucket = {
  MEDIA_BUCKET: 'media',
  MEDIA_S3_ENDPOINT: 'http://s3:9000',
  MEDIA_S3_ACCESS_KEY_ID: 'access',
  MEDIA_S3_SECRET_ACCESS_KEY: 'secret-of-the-access-key',
};

describe('the settings of a store', () => {
  it.each([
    ['a bucket', bucket],
    [
      'a bucket with every setting',
      {
        ...bucket,
        MEDIA_S3_REGION: 'eu-central-1',
        MEDIA_S3_FORCE_PATH_STYLE: 'false',
        MEDIA_S3_CHECKSUMS: 'when_required',
        MEDIA_S3_TIMEOUT: '1500ms',
      },
    ],
    ['a bucket of Amazon, with the roles of a pod', { MEDIA_BUCKET: 'media', AWS_ROLE_ARN: 'role', AWS_REGION: 'x' }],
    ['a bucket with another one for working objects', { ...bucket, WORK_BUCKET: 'work' }],
    ['two folders', { MEDIA_BUCKET: 'file:media', WORK_BUCKET: 'file:work' }],
    ['a folder', { MEDIA_BUCKET: 'file:/data/media' }],
    ['a folder named from here', { MEDIA_BUCKET: 'file:media' }],
  ])('the settings of %s reach another process unchanged', (_name, env) => {
    const settings = readStorageSettings(env, 'MEDIA');
    const handed = storageEnvironment(settings, 'MEDIA');
    expect(readStorageSettings(handed, 'MEDIA')).toEqual(settings);
    expect(Object.keys(handed).filter((name) => !/^(MEDIA|AWS|WORK)_/.test(name))).toEqual([]);
  });

  it('working objects are in a bucket that is reached as the media bucket is', () => {
    const { work, ...media } = readStorageSettings({ ...bucket, WORK_BUCKET: 'work' }, 'MEDIA');
    expect(work).toEqual({ ...media, bucket: 'work' });
    expect(readStorageSettings({ ...bucket, WORK_BUCKET: 'media' }, 'MEDIA')).toEqual(media);
    expect(() => readStorageSettings({ ...bucket, WORK_BUCKET: 'file:work' }, 'MEDIA')).toThrow(
      'WORK_BUCKET: expected a bucket beside a bucket',
    );
  });

  it('the settings of one store are not read for the other', () => {
    expect(() => readStorageSettings(bucket, 'SOURCE')).toThrow(
      'the SOURCE store is not configured: SOURCE_BUCKET: is required',
    );
  });

  it('a folder is named by its absolute path, which means the same in every process', () => {
    const { dir, bucket: name } = readStorageSettings({ SOURCE_BUCKET: 'file:a/../b' }, 'SOURCE');
    expect(dir).toBe(`${process.cwd()}/b`);
    expect(name).toBe(`file:${dir}`);
  });

  it('all faults of a store are reported at once, without a value', () => {
    const wrong = {
      ...bucket,
      MEDIA_S3_ENDPOINT: 's3',
      MEDIA_S3_TIMEOUT: 'soon',
      MEDIA_S3_SECRET_ACCESS_KEY: 'hunter 2',
    };
    let message = '';
    try {
      readStorageSettings(wrong, 'MEDIA');
    } catch (error) {
      ({ message } = error as Error);
    }
    for (const name of ['ENDPOINT', 'TIMEOUT', 'SECRET_ACCESS_KEY'])
      expect(message).toContain(`MEDIA_S3_${name}: expected`);
    expect(message).not.toContain('hunter');
  });
});
