import { describe, expect, it } from 'vitest';
import { parseImportSettings } from './import-settings.ts';

describe('from where files are imported', () => {
  it('imports are off unless hosts are named', () => {
    expect(parseImportSettings({ IMPORT_MAX_BYTES: '1GiB' }, true)).toEqual({ imports: null });
    expect(parseImportSettings({}, false)).toEqual({ imports: null });
  });

  it('hosts alone turn imports on', () => {
    expect(parseImportSettings({ IMPORT_HOSTS: 'Media.example.com, *.cdn.example.com' }, true)).toEqual({
      imports: {
        hosts: ['media.example.com', '*.cdn.example.com'],
        allowedCidrs: [],
        bytesMax: 20 * 1024 ** 3,
        concurrency: 2,
      },
    });
  });

  it.each([
    [{ IMPORT_HOSTS: 'https://a.com' }, true, 'IMPORT_HOSTS: expected hosts'],
    [{ IMPORT_HOSTS: '*' }, true, 'IMPORT_HOSTS: expected hosts'],
    [{ IMPORT_HOSTS: 'a.com' }, false, 'IMPORT_HOSTS: expected together with UPLOAD_S3_ACCESS_KEY_ID'],
    [{ IMPORT_MAX_BYTES: '1TiB' }, true, 'IMPORT_MAX_BYTES: expected a size'],
    [{ IMPORT_MAX_BYTES: '0' }, true, 'IMPORT_MAX_BYTES: expected a size'],
  ])('%j is a fault', (env, hasUploads, fault) => {
    expect(parseImportSettings(env, hasUploads)).toEqual({ faults: [expect.stringContaining(fault)] });
  });
});
