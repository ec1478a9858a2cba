import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpsServer, type Server } from 'node:https';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, PutBucketPolicyCommand, S3Client } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { findProgram as findTool } from '#platform/commands/find-program.ts';
import { type CheckResult, Ground, runChecks } from '../../cli/doctor/check.ts';
import { checks } from '../../cli/doctor/index.ts';
import { certificate } from '../../testing/certificate.ts';
import { openCommandLine } from '../../testing/command-line.ts';
import { emptyDatabase, migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { secrets } from '../../testing/programs.ts';
import { addS3User, findProgram, type RedisServer, type S3Server, startRedis, startS3 } from '../../testing/servers.ts';

// Set-ups that are broken in one place each: `doctor` names that place, what to do, and nothing else. The ones that
// need a cluster are in test/k8s/doctor.test.ts.

const hasAll = inject('postgres') !== null && inject('redis') !== null && findProgram('versitygw') !== null;

let database: TestDatabase;
let redis: RedisServer;
let s3: S3Server;
let tls: Server;
let admin: S3Client;
let folder = '';
/** Everything is as it should be. */
let whole: Record<string, string> = {};
const cleanups: (() => unknown)[] = [];

const rights = {
  source: ['s3:ListBucket', 's3:GetObject'],
  media: ['s3:ListBucket', 's3:GetObject', 's3:PutObject', 's3:DeleteObject'],
};

/** Gives the user of the service these rights on a bucket and no other. */
async function allow(bucket: string, actions: readonly string[]): Promise<void> {
  const statement = (action: string) => ({
    Effect: 'Allow',
    Principal: { AWS: ['service'] },
    Action: action,
    Resource: `arn:aws:s3:::${bucket}${action === 's3:ListBucket' ? '' : '/*'}`,
  });
  const policy = { Version: '2012-10-17', Statement: actions.map(statement) };
  await admin.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: JSON.stringify(policy) }));
}

beforeAll(async () => {
  if (!hasAll) return;
  folder = await mkdtemp(join(tmpdir(), 'reelwright-doctor-'));
  [database, redis, s3] = await Promise.all([migratedDatabase(), startRedis(), startS3({ hasUsers: true })]);
  await addS3User(s3, { name: 'service', secret: 'the-secret-of-the-service' });
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  const credentials = { accessKeyId, secretAccessKey };
  admin = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
  for (const bucket of ['sources', 'media']) await admin.send(new CreateBucketCommand({ Bucket: bucket }));
  await allow('sources', rights.source);
  await allow('media', rights.media);
  tls = createHttpsServer({ ...certificate }, (_, response) => response.end()).listen(0, '127.0.0.1');
  await once(tls, 'listening');
  const keys = (name: string) => ({
    [`${name}_S3_ENDPOINT`]: endpoint,
    [`${name}_S3_ACCESS_KEY_ID`]: 'service',
    [`${name}_S3_SECRET_ACCESS_KEY`]: 'the-secret-of-the-service',
  });
  whole = {
    ...secrets,
    PATH: process.env['PATH'] ?? '',
    MODE: 'server',
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    SOURCE_BUCKET: 'sources',
    MEDIA_BUCKET: 'media',
    ...keys('SOURCE'),
    ...keys('MEDIA'),
    WORK_DIR: folder,
    BASE_URL: endpoint,
  };
});
afterAll(async () => {
  if (!hasAll) return;
  admin.destroy();
  tls.close();
  await Promise.all([redis.stop(), s3.stop(), database.drop(), rm(folder, { recursive: true, force: true })]);
});
afterEach(async () => {
  vi.useRealTimers();
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function diagnose(
  env: Record<string, string>,
  callbackUrls: readonly string[] = [],
): Promise<readonly CheckResult[]> {
  const ground = new Ground({ env, flags: [], callbackUrls, signal: new AbortController().signal });
  try {
    return await runChecks(checks, ground);
  } finally {
    await ground.close();
  }
}

const without = (name: string) => Object.fromEntries(Object.entries(whole).filter(([each]) => each !== name));

async function sql(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

async function redisCommand(...command: readonly [string, ...string[]]): Promise<void> {
  const client = new Redis(redis.url, { maxRetriesPerRequest: 1 });
  try {
    await client.call(...command);
  } finally {
    client.disconnect();
  }
}

/** A broken set-up: what is changed, and the one check that finds it. */
interface Case {
  readonly name: string;
  readonly check: string;
  readonly fault: RegExp;
  readonly remedy: RegExp;
  readonly level?: 'warning';
  readonly callbackUrl?: () => string;
  readonly env: () => Promise<Record<string, string>> | Record<string, string>;
}

const at = (url: string, change: (url: URL) => void) => {
  const changed = new URL(url);
  change(changed);
  return changed.href;
};
const tlsUrl = (host: string) => `https://${host}:${(tls.address() as AddressInfo).port}`;

const withRights = (bucket: 'sources' | 'media', missing: string) => async () => {
  const all = bucket === 'sources' ? rights.source : rights.media;
  await allow(
    bucket,
    all.filter((right) => right !== missing),
  );
  cleanups.push(() => allow(bucket, all));
  return whole;
};

const cases: readonly Case[] = [
  {
    name: 'a variable that is missing',
    check: 'configuration',
    fault: /^SOURCE_BUCKET: is required/,
    remedy: /set SOURCE_BUCKET/,
    env: () => without('SOURCE_BUCKET'),
  },
  {
    name: 'a variable that is misspelt',
    check: 'spelling',
    fault: /^TRUSTED_PROXYS: is not a known variable/,
    remedy: /rename it to TRUSTED_PROXIES/,
    env: () => ({ ...whole, TRUSTED_PROXYS: '10.0.0.0/8' }),
  },
  {
    name: 'a folder that does not exist',
    check: 'folders',
    fault: /^MEDIA_BUCKET: expected a folder that exists/,
    remedy: /make the folder/,
    env: () => ({ ...whole, MEDIA_BUCKET: `file:${join(folder, 'none')}` }),
  },
  {
    name: 'a public address that DNS does not know',
    check: 'public address',
    fault: /^BASE_URL, https:\/\/media\.invalid\/: its host name is unknown to DNS/,
    remedy: /DNS/,
    env: () => ({ ...whole, BASE_URL: 'https://media.invalid' }),
  },
  {
    name: 'a user that the database refuses',
    check: 'database',
    fault: /^DATABASE_URL: the server refuses user or password/,
    remedy: /correct the user and the password/,
    env: () => ({ ...whole, DATABASE_URL: at(database.url, (url) => (url.username = 'nobody')) }),
  },
  {
    name: 'a database that is not migrated',
    check: 'migrations',
    fault: /^the database lacks \d+ migrations, the first is 0/,
    remedy: /start an API or a worker of this version/,
    env: async () => {
      const empty = await emptyDatabase();
      cleanups.push(() => empty.drop());
      return { ...whole, DATABASE_URL: empty.url };
    },
  },
  {
    name: 'a role that may not write jobs',
    check: 'database rights',
    fault: /^the role may not insert in jobs/,
    remedy: /grant insert on jobs/,
    env: async () => {
      const role = 'doctor_reader';
      await sql(
        database.url,
        `create role ${role} login password 'p'`,
        `grant select, update, delete on all tables in schema public to ${role}`,
      );
      cleanups.push(() => sql(database.url, `drop owned by ${role}`, `drop role ${role}`));
      return { ...whole, DATABASE_URL: at(database.url, (url) => ([url.username, url.password] = [role, 'p'])) };
    },
  },
  {
    name: 'a clock that is not the one of the database and the storage',
    check: 'database clock, storage clock',
    fault: /is (?:59|6[01]) s behind the clock of this machine/,
    remedy: /NTP/,
    env: () => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
      return whole;
    },
  },
  {
    name: 'a Redis with another password',
    check: 'redis',
    fault: /^REDIS_URL: the server refuses user, password or database/,
    remedy: /correct the user, the password/,
    env: async () => {
      await redisCommand('config', 'set', 'requirepass', 'right');
      cleanups.push(async () => {
        const client = new Redis(at(redis.url, (url) => (url.password = 'right')));
        await client.call('config', 'set', 'requirepass', '');
        client.disconnect();
      });
      return { ...whole, REDIS_URL: at(redis.url, (url) => (url.password = 'wrong')) };
    },
  },
  {
    name: 'a Redis that may evict tickets',
    check: 'redis eviction policy',
    fault: /maxmemory-policy of Redis is allkeys-lru/,
    remedy: /noeviction/,
    env: async () => {
      await redisCommand('config', 'set', 'maxmemory-policy', 'allkeys-lru');
      cleanups.push(() => redisCommand('config', 'set', 'maxmemory-policy', 'noeviction'));
      return whole;
    },
  },
  {
    name: 'a source bucket that does not exist',
    check: 'source bucket',
    fault: /^SOURCE_BUCKET: the bucket none-there does not exist/,
    remedy: /create the bucket/,
    env: () => ({ ...whole, SOURCE_BUCKET: 'none-there' }),
  },
  {
    name: 'a secret of an access key that is wrong',
    check: 'media bucket',
    fault: /^MEDIA_S3_SECRET_ACCESS_KEY: the server refuses the signature/,
    remedy: /correct the secret/,
    env: () => ({ ...whole, MEDIA_S3_SECRET_ACCESS_KEY: 'another-secret' }),
  },
  ...(['s3:ListBucket', 's3:GetObject'] as const).map((right) => ({
    name: `a key of the source bucket without ${right}`,
    check: 'source rights',
    fault: new RegExp(`^SOURCE_BUCKET: the key lacks the right ${right}$`),
    remedy: new RegExp(`allow ${right} on arn:aws:s3:::sources`),
    env: withRights('sources', right),
  })),
  ...rights.media.map((right) => ({
    name: `a key of the media bucket without ${right}`,
    check: 'media rights',
    fault: new RegExp(`^MEDIA_BUCKET: the key lacks the right ${right}$`),
    remedy: new RegExp(`allow ${right} on arn:aws:s3:::media`),
    env: withRights('media', right),
  })),
  {
    name: 'an upload key without the right to write',
    check: 'upload rights',
    fault: /^UPLOAD_BUCKET: the key lacks the right s3:PutObject$/,
    remedy: /allow s3:PutObject on arn:aws:s3:::sources/,
    env: () => ({
      ...whole,
      UPLOAD_S3_ACCESS_KEY_ID: 'service',
      UPLOAD_S3_SECRET_ACCESS_KEY: 'the-secret-of-the-service',
    }),
  },
  {
    name: 'an ffmpeg that lacks an encoder',
    check: 'tools',
    fault: /^ffmpeg has no encoder libx264$/,
    remedy: /install it/,
    env: async () => {
      const path = join(folder, 'small-ffmpeg');
      const real = findTool('ffmpeg', process.env);
      // It runs without PATH.
      const sed = findProgram('sed') ?? '/bin/sed';
      await writeFile(path, `#!/bin/sh\n'${real}' "$@" | '${sed}' 's/libx264 /other /'\n`, { mode: 0o755 });
      return { ...whole, MODE: 'worker', FFMPEG_PATH: path };
    },
  },
  {
    name: 'a purge hook that does not speak TLS',
    check: 'other addresses',
    fault: /^PURGE_HOOK_URL, .*: it does not speak TLS there/,
    remedy: /the port for TLS/,
    env: async () => {
      const plain = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
      await once(plain, 'listening');
      cleanups.push(() => plain.close());
      return { ...whole, PURGE_HOOK_URL: `https://127.0.0.1:${(plain.address() as AddressInfo).port}/purge` };
    },
  },
  {
    name: 'a receiver of webhooks whose address is private',
    check: 'webhook receivers',
    fault: /^callback_url, .*: its address 127\.0\.0\.1 is not public/,
    remedy: /WEBHOOK_ALLOWED_CIDRS/,
    callbackUrl: () => tlsUrl('127.0.0.1'),
    env: () => whole,
  },
];

describe.skipIf(!hasAll)('doctor', () => {
  it('finds nothing in a set-up that is whole, and leaves nothing in its buckets', async () => {
    const results = await diagnose(whole);
    expect(results.flatMap(({ findings }) => findings)).toEqual([]);
    const skipped = results.filter(({ status }) => status === 'skipped').map(({ name }) => name);
    expect(skipped).not.toContain('media rights');
    expect(skipped).toContain('cluster');
    const { ListObjectsV2Command } = await import('@aws-sdk/client-s3');
    expect((await admin.send(new ListObjectsV2Command({ Bucket: 'media' }))).KeyCount ?? 0).toBe(0);
  });

  it('finds no fault in the tools of a worker of this checkout', async () => {
    const results = await diagnose({ ...whole, MODE: 'worker' });
    expect(results.filter(({ status }) => status === 'fault')).toEqual([]);
  });

  it.each(cases)(
    '$name is named, with what to do, and nothing else',
    async ({ check, fault, remedy, level, ...given }) => {
      const env = await given.env();
      const results = await diagnose(env, given.callbackUrl === undefined ? [] : [given.callbackUrl()]);
      const found = results.filter(({ findings }) =>
        findings.some((each) => level !== undefined || each.level === 'fault'),
      );
      expect(found.map(({ name }) => name).join(', ')).toBe(check);
      const findings = found.flatMap((each) =>
        each.findings.filter((one) => level !== undefined || one.level === 'fault'),
      );
      for (const finding of findings) {
        expect(finding.fault).toMatch(fault);
        expect(finding.remedy).toMatch(remedy);
        expect(finding.level).toBe(level ?? 'fault');
      }
      const shown = JSON.stringify(results);
      for (const secret of [...Object.values(secrets), 'the-secret-of-the-service'])
        expect(shown).not.toContain(secret);
    },
  );

  it('the program prints JSON and ends with 12 where there is a fault, else with 0', async () => {
    const cli = await openCommandLine(whole);
    try {
      const healthy = await cli.run(['doctor', '--json'], { asProcess: true });
      expect([healthy.code, healthy.json.healthy]).toEqual([0, true]);
      const broken = await cli.run(['doctor', '--json'], { asProcess: true, env: { MAX_FILE_SIZE: 'large' } });
      expect([broken.code, broken.json.healthy, broken.json.checks[0]]).toEqual([
        12,
        false,
        {
          name: 'configuration',
          status: 'fault',
          findings: [
            expect.objectContaining({ level: 'fault', fault: expect.stringMatching(/^MAX_FILE_SIZE/) as string }),
          ],
        },
      ]);
      const text = await cli.run(['doctor'], { env: { MAX_FILE_SIZE: 'large' } });
      expect(text.stdout).toMatch(/^fault {4}configuration\n {9}MAX_FILE_SIZE: .*\n {9}→ set MAX_FILE_SIZE/);
      expect(text.stdout).toMatch(/^skipped {2}\d+ checks that say nothing before these faults are gone: spelling, /m);
      expect(text.stderr).toBe('faults: configuration\n');
    } finally {
      await cli.close();
    }
  });
});
