import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Config, loadConfig } from './config.ts';

const secrets = {
  API_KEY: 'api-key-0123456789',
  KEY_TOKEN_SECRET: 'key-token-secret-0123456789',
  WEBHOOK_SECRET: 'webhook-secret-0123456789',
  ENCRYPTION_KEY: 'encryption-key-0123456789',
};

const whole = {
  ...secrets,
  DATABASE_URL: 'postgres://me:database-password@db:5432/reelwright',
  REDIS_URL: 'redis://:redis-password@redis:6379/0',
  BASE_URL: 'https://media.example.org',
  SOURCE_BUCKET: 'sources',
  SOURCE_S3_ENDPOINT: 'http://s3:9000',
  SOURCE_S3_ACCESS_KEY_ID: 'source-access',
  SOURCE_S3_SECRET_ACCESS_KEY: 'source-secret-access-key',
  MEDIA_BUCKET: 'file:media',
};

function without(...names: (keyof typeof whole)[]): Record<string, string> {
  return Object.fromEntries(Object.entries(whole).filter(([name]) => !(names as string[]).includes(name)));
}

function load(env: Record<string, string>, ...argv: string[]): Config {
  const loaded = loadConfig(env, argv);
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config as Config;
}

function faultsOf(env: Record<string, string>, ...argv: string[]): readonly string[] {
  const loaded = loadConfig(env, argv);
  return 'faults' in loaded ? loaded.faults : [];
}

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'reelwright-config-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

describe('a whole configuration', () => {
  it('a variable that is set replaces its default', () => {
    const config = load({
      ...whole,
      DATABASE_URL: 'embedded:data/db',
      REDIS_URL: 'embedded:',
      API_KEY: `${secrets.API_KEY}, another-api-key-0123456789`,
      MAX_FILE_SIZE: '500MiB',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      SERVER_SURFACES: 'delivery',
      WORK_DIR: '/scratch',
      FFMPEG_PATH: '/opt/ffmpeg',
      PORT: '0',
    });
    expect(config).toMatchObject({
      databaseUrl: { kind: 'embedded', dir: join(process.cwd(), 'data/db') },
      redis: { kind: 'embedded' },
      apiKeys: [secrets.API_KEY, 'another-api-key-0123456789'],
      maxFileSizeBytes: 500 * 1024 ** 2,
      otlpEndpoint: 'http://collector:4318',
      surfaces: new Set(['delivery']),
      workDir: '/scratch',
      ffmpegPath: '/opt/ffmpeg',
      port: 0,
    });
  });

  it('C20.20: images without signatures are refused in production, and where strangers reach them', () => {
    const [production, open] = [
      'THUMB_UNSIGNED: expected off where NODE_ENV is production',
      'THUMB_UNSIGNED: expected off where BASE_URL is a public address',
    ];
    const unsigned = { ...whole, THUMB_UNSIGNED: 'on' };
    expect(faultsOf({ ...unsigned, NODE_ENV: 'production' })).toEqual([production, open]);
    expect(faultsOf({ ...unsigned, BASE_URL: 'http://localhost:3000', NODE_ENV: 'production' })).toEqual([production]);
    expect(faultsOf(unsigned)).toEqual([open]);
    expect(load({ ...unsigned, BASE_URL: 'http://localhost:3000' }).thumbUnsigned).toBe('on');
    expect(load(whole).thumbUnsigned).toBe('off');
  });

  it('C20.21: a server of delivery alone opens the source bucket where it shows sources, and only there', () => {
    const delivery = { ...whole, MODE: 'server', SERVER_SURFACES: 'delivery' };
    const shown = { ...delivery, THUMB_SOURCES: 'uploads/' };
    expect(load(delivery)).toMatchObject({ source: null, imageSource: null, thumbSources: null });
    expect(load(shown)).toMatchObject({ source: null, imageSource: { bucket: 'sources' }, thumbSources: 'uploads/' });
    expect(faultsOf({ ...shown, SOURCE_BUCKET: '' })).toEqual(['SOURCE_BUCKET: is required']);
    expect(load({ ...whole, THUMB_SOURCES: 'all' }).imageSource).toMatchObject({ bucket: 'sources' });
    expect(load(whole).imageSource).toBeNull();
  });

  it('an empty variable counts as one that is not set', () => {
    const config = load({ ...whole, OTEL_EXPORTER_OTLP_ENDPOINT: '', PORT: '', THUMB_SECRET: '' });
    expect(config).toMatchObject({ otlpEndpoint: null, port: 3000, thumbSecrets: [] });
  });

  it('the executor is Kubernetes inside a cluster and process elsewhere, unless EXECUTOR is set', () => {
    const inCluster = {
      ...whole,
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      RUNNER_NAMESPACE: 'runners',
      RUNNER_IMAGE: 'docker.io/library/runner:1',
      RUNNER_SOURCE_SECRET: 'source',
      RUNNER_MEDIA_SECRET: 'media',
    };
    expect(load(inCluster).executor).toBe('kubernetes');
    expect(load({ ...inCluster, EXECUTOR: 'process' }).executor).toBe('process');
  });

  it('a store without keys keeps the AWS variables that the credential chain of the SDK reads', () => {
    const env = {
      ...without('SOURCE_S3_ACCESS_KEY_ID', 'SOURCE_S3_SECRET_ACCESS_KEY'),
      AWS_ROLE_ARN: 'arn:aws:iam::1:role/r',
    };
    const { s3 } = load(env).source;
    expect(s3?.keys).toBeUndefined();
    expect(s3?.chainVariables).toEqual({ AWS_ROLE_ARN: 'arn:aws:iam::1:role/r' });
  });
});

describe('modes', () => {
  it('the flag --mode wins over the variable MODE', () => {
    expect(load({ ...whole, MODE: 'server' }, '--mode=worker').mode).toBe('worker');
    expect(load({ ...whole, MODE: 'server' }).mode).toBe('server');
  });

  it('a required variable that is missing and set by a similar name is one fault that names both', () => {
    const { DATABASE_URL: url, ...rest } = whole;
    expect(faultsOf({ ...rest, DATABSE_URL: url })).toEqual([
      'DATABASE_URL: is required; DATABSE_URL is set: rename it if it is meant',
    ]);
  });

  it('an unknown mode and an unknown flag are faults', () => {
    const wrongMode = 'MODE: expected one of all, server, worker';
    expect(faultsOf({ ...whole, MODE: 'both' })).toEqual([wrongMode]);
    expect(faultsOf(whole, '--mode=both')).toEqual([wrongMode]);
    expect(faultsOf(whole, '--mode=')).toEqual(['--mode: expected one of all, server, worker']);
    expect(faultsOf(whole, '--verbose', '--mode', 'worker', '--api-key=hunter2')).toEqual([
      '--verbose: is not a known flag; known are --mode=, --check-config and --help',
      '--mode: is not a known flag; known are --mode=, --check-config and --help',
      'worker: is not a known flag; known are --mode=, --check-config and --help',
      '--api-key: is not a known flag; known are --mode=, --check-config and --help',
    ]);
  });

  const common = ['DATABASE_URL', 'MEDIA_BUCKET'];
  const tickets = ['REDIS_URL', 'SOURCE_BUCKET'];
  it.each([
    [
      'all',
      'api,delivery',
      [...tickets, 'API_KEY', 'KEY_TOKEN_SECRET', 'WEBHOOK_SECRET', 'ENCRYPTION_KEY', 'BASE_URL'],
    ],
    ['server', 'api,delivery', [...tickets, 'API_KEY', 'KEY_TOKEN_SECRET', 'ENCRYPTION_KEY', 'BASE_URL']],
    ['server', 'api', [...tickets, 'API_KEY', 'BASE_URL']],
    ['server', 'delivery', ['KEY_TOKEN_SECRET', 'ENCRYPTION_KEY']],
    ['worker', 'api,delivery', [...tickets, 'WEBHOOK_SECRET', 'ENCRYPTION_KEY', 'BASE_URL']],
  ])('mode %s with the surfaces %s requires only the variables that it uses', (mode, surfaces, needed) => {
    const faults = faultsOf({ MODE: mode, SERVER_SURFACES: surfaces });
    expect(faults.toSorted()).toEqual([...common, ...needed].map((name) => `${name}: is required`).toSorted());
  });

  it('a delivery-only server ignores a source bucket and takes Redis when it is set', () => {
    const delivery = { MODE: 'server', SERVER_SURFACES: 'delivery' };
    const bare = without('SOURCE_BUCKET', 'REDIS_URL', 'API_KEY', 'WEBHOOK_SECRET', 'BASE_URL');
    expect(load({ ...bare, ...delivery })).toMatchObject({ source: null, redis: null });
    expect(load({ ...whole, ...delivery })).toMatchObject({
      source: null,
      redis: { kind: 'redis', url: whole.REDIS_URL },
    });
  });

  it('a secret that the mode does not use is empty or random, different in each process', () => {
    const config = load({ ...without('WEBHOOK_SECRET', 'API_KEY'), MODE: 'server', SERVER_SURFACES: 'delivery' });
    expect(config.apiKeys).toEqual([]);
    expect(config.webhookSecret.length).toBeGreaterThan(40);
    expect(load({ ...without('WEBHOOK_SECRET'), MODE: 'server' }).webhookSecret).not.toBe(config.webhookSecret);
  });
});

describe('secrets', () => {
  it('a secret may come from a file, and the line end at the end of the file is not part of it', () => {
    const file = join(dir, 'api-key');
    writeFileSync(file, 'api-key-from-a-file\n');
    writeFileSync(join(dir, 's3'), 'source-secret-from-a-file');
    writeFileSync(join(dir, 'db'), 'postgres://me:pw@db/from-file\r\n');
    const config = load({
      ...without('API_KEY', 'SOURCE_S3_SECRET_ACCESS_KEY', 'DATABASE_URL'),
      API_KEY_FILE: file,
      SOURCE_S3_SECRET_ACCESS_KEY_FILE: join(dir, 's3'),
      DATABASE_URL_FILE: join(dir, 'db'),
    });
    expect(config.apiKeys).toEqual(['api-key-from-a-file']);
    expect(config.source.s3?.keys?.secretAccessKey).toBe('source-secret-from-a-file');
    expect(config.databaseUrl).toEqual({ kind: 'postgres', url: 'postgres://me:pw@db/from-file' });
  });

  it('a secret file that cannot be read, and a secret given twice, are faults', () => {
    const missing = { ...without('API_KEY'), API_KEY_FILE: join(dir, 'missing') };
    expect(faultsOf(missing)).toEqual(['API_KEY_FILE: expected a file that can be read (ENOENT)']);
    const file = join(dir, 'twice');
    writeFileSync(file, 'api-key-from-a-file');
    expect(faultsOf({ ...whole, API_KEY_FILE: file })).toEqual([
      'API_KEY_FILE: expected only one of API_KEY and API_KEY_FILE',
    ]);
  });

  it('a secret has at least 16 bytes, and so has each of a list', () => {
    expect(faultsOf({ ...whole, KEY_TOKEN_SECRET: 'x'.repeat(15), API_KEY: 'api-key-0123456789,short' })).toEqual([
      'API_KEY: expected secrets of at least 16 bytes each, separated by commas',
      'KEY_TOKEN_SECRET: expected a secret of at least 16 bytes',
    ]);
    expect(faultsOf({ ...whole, KEY_TOKEN_SECRET: 'é'.repeat(8) })).toEqual([]);
  });

  it('two equal secrets are a fault', () => {
    const env = { ...whole, WEBHOOK_SECRET: secrets.API_KEY, THUMB_SECRET: 'thumb-secret-01234,thumb-secret-01234' };
    expect(faultsOf(env)).toEqual([
      'WEBHOOK_SECRET: expected another value than API_KEY',
      'THUMB_SECRET: expected keys that differ',
    ]);
  });
});

describe('faults', () => {
  const wrong = {
    MODE: 'everything',
    PORT: '70000',
    HOST: 'not a host',
    SERVER_SURFACES: 'api,admin',
    BASE_URL: 'https://media.example.org/',
    DATABASE_URL: 'mysql://me:database-password@db/x',
    REDIS_URL: 'http://:redis-password@redis',
    API_KEY: 'too-short-key',
    KEY_TOKEN_SECRET: 'short-secret',
    MAX_FILE_SIZE: 'huge',
    WORKER_CONCURRENCY: '0',
    WEBHOOK_BACKOFF: '1s,1s,1s,1s,1s,1s',
    WEBHOOK_ALLOWED_CIDRS: 'anywhere',
    TRUSTED_PROXIES: '10.0.0.0/99',
    LOG_LEVEL: 'loud',
    EXECUTOR: 'docker',
    X264_PRESET: 'fastest',
    LEASE_DURATION: '0s',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    SOURCE_BUCKET: 'file:',
    MEDIA_BUCKET: 'no spaces please',
    MEDIA_S3_ENDPOINT: 's3:9000',
    MEDIA_S3_FORCE_PATH_STYLE: 'maybe',
  };

  it('a duration that becomes a timer is shorter than the longest one', () => {
    const names = ['JOB_DEADLINE', 'LEASE_DURATION', 'SWEEP_INTERVAL', 'SOURCE_S3_TIMEOUT', 'MEDIA_S3_TIMEOUT'];
    const all = (value: string) => Object.fromEntries(names.map((name) => [name, value]));
    expect(load({ ...whole, ...all('24d') })).toMatchObject({ jobDeadlineMs: 24 * 86_400_000 });
    const expected = 'expected a duration over zero and under 25 days, such as 250ms, 5s or 3m';
    const faults = faultsOf({ ...whole, ...all('25d') });
    for (const name of names) expect(faults).toContain(`${name}: ${expected}`);
  });

  it('MEDIA_PROFILES is YAML, or a file of it, and every fault of it is reported with its place', () => {
    const text = 'profiles:\n  small: { crf: 30 }\nrules:\n  - { source_prefix: a/, profile: small }\n';
    expect(load({ ...whole, MEDIA_PROFILES: text })).toMatchObject({
      mediaProfiles: { rules: [{ profile: 'small' }] },
    });
    expect(faultsOf({ ...whole, MEDIA_PROFILES: 'profiles: { small: { crf: 99, fps: 30 } }' })).toEqual([
      'MEDIA_PROFILES: /profiles/small/crf: must be at most 40',
      expect.stringContaining('MEDIA_PROFILES: /profiles/small/fps: is not a known field'),
    ]);
    expect(faultsOf({ ...whole, MEDIA_PROFILES: 'profiles.yaml' })).toEqual([
      'MEDIA_PROFILES: holds a text and no profiles; to name a file, set MEDIA_PROFILES_FILE',
    ]);
    expect(faultsOf({ ...whole, MEDIA_PROFILES: '{' })[0]).toMatch(/^MEDIA_PROFILES: expected YAML: /);
  });

  it('all faults are reported at once, each with its variable and what was expected', () => {
    const faults = faultsOf(wrong);
    expect(new Set(faults.map((fault) => fault.split(':')[0]))).toEqual(new Set(Object.keys(wrong)));
    expect(faults).toHaveLength(Object.keys(wrong).length);
    for (const fault of faults) expect(fault).toMatch(/^[A-Z0-9_]+: expected /);
  });

  it('a fault never holds the value of a variable', () => {
    const reported = faultsOf(wrong, '--secret=hunter2hunter2').join('\n');
    for (const value of ['database-password', 'redis-password', 'too-short-key', 'short-secret', 'hunter2']) {
      expect(reported).not.toContain(value);
    }
  });

  it.each([
    'media.example.org',
    '/media',
    'ftp://media',
    'https://media/?a',
    'https://media#a',
    'https://u:p@media',
    'https://media/',
  ])('the base address %s is a fault', (address) => {
    expect(faultsOf({ ...whole, BASE_URL: address })).toEqual([
      'BASE_URL: expected an absolute http or https URL that does not end with "/"',
    ]);
  });

  it('a pool that neither RUNNER_POOLS nor a queue sizes is a fault that names it', () => {
    const cluster = {
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      RUNNER_NAMESPACE: 'runners',
      RUNNER_IMAGE: 'registry.example.com/runner:1',
      RUNNER_SOURCE_SECRET: 'source',
      RUNNER_MEDIA_SECRET: 'media',
    };
    const faultsWith = (pools: object) => faultsOf({ ...whole, ...cluster, RUNNER_POOLS: JSON.stringify(pools) });
    expect(faultsWith({ gpu: {} })).toEqual(['RUNNER_POOLS: expected a concurrency for the pool gpu']);
    expect(faultsWith({ default: {}, 'video-large': { nodeSelector: {} }, gpu: { concurrency: 2 } })).toEqual([]);
  });

  it('one half of a pair of S3 keys is a fault', () => {
    expect(faultsOf(without('SOURCE_S3_SECRET_ACCESS_KEY'))).toEqual([
      'SOURCE_S3_SECRET_ACCESS_KEY: expected together with SOURCE_S3_ACCESS_KEY_ID, or neither',
    ]);
  });
});
