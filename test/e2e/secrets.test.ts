import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { putLongClip } from './support/clips.ts';
import { type Dump, dumpLogs, dumpMedia, dumpObjects, dumpPostgres, watchRedis } from './support/dumps.ts';
import { hostProcesses, type HostProcess } from './support/host-processes.ts';
import { cancelUnfinished, completed, ended, newHash, runnerPods, submit } from './support/service.ts';

// No secret stands in any object, log, event or process argument outside the packager's own container. The release is
// installed with a recognisable value for every secret, and these tests search for those values.

let contentKey: Buffer;
/** Every process of the nodes that was found while the job ran, with its container. */
let processes: readonly HostProcess[];
/** The id of the container that runs the packager. */
let packager: string;
let stores: Dump;

beforeAll(async () => {
  const source = await putLongClip();
  const redis = await watchRedis();
  const hash = newHash();
  const watch = watchProcesses();
  const id = await submit({ type: 'video:transcode', hash, source, options: { encrypt: true } });
  await completed(id);
  const [pod] = await runnerPods(id);
  packager = pod?.status.containerStatuses?.[0]?.containerID?.replace(/^\w+:\/\//, '') ?? '';
  expect(packager).not.toBe('');
  // A job that fails, so that its error and its log are searched too.
  const failed = await submit({ type: 'image:thumbnail', source: 'clips/none.png' });
  expect(await ended(failed)).toMatchObject({ status: 'failed', error: { code: 'source_not_found' } });
  processes = await watch.stop();

  const { deliveryUrl, secrets } = inject('e2e');
  const token = signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + 60 }, secrets.keyToken);
  const answer = await fetch(`${deliveryUrl}/api/key/${hash}`, { headers: { authorization: `Bearer ${token}` } });
  contentKey = Buffer.from(await answer.arrayBuffer());
  expect(contentKey).toHaveLength(16);
  stores = new Map([...(await dumpPostgres()), ...(await redis.dump()), ...(await dumpMedia())]);
});
afterEach(cancelUnfinished);

describe('a search for the secrets of the release finds nothing', () => {
  test('no object or Event holds a secret, except the Secrets of the release', async () => {
    const objects = await dumpObjects();
    expect(objects.size).toBeGreaterThan(100);
    expect([...objects.keys()].filter((name) => name.startsWith('MediaJob '))).not.toEqual([]);
    // The chart's Secrets, and the one in which Helm stores the values of the release.
    const isExpected =
      /^Secret [^/]+\/(reelwright-(secrets|(source|media)-storage)|sh\.helm\.release\.v1\.reelwright\.v\d+)$/;
    const found = whereFound(objects, [...configured(), ...formsOf(contentKey)]).filter(
      (place) => !isExpected.test(place),
    );
    expect(found).toEqual([]);
    // The search itself works: it finds the Secret of the release.
    expect(whereFound(objects, configured())).toContain('Secret reelwright-e2e/reelwright-secrets');
    expect([...objects.keys()].filter((name) => /^Secret .*-key$/.test(name))).toEqual([]);
  });

  test('no log holds a secret at the level `debug`', async () => {
    const logs = await dumpLogs();
    expect([...logs.values()].join('').length).toBeGreaterThan(10_000);
    expect(whereFound(logs, [...configured(), ...formsOf(contentKey)])).toEqual([]);
  });

  test('neither Postgres, nor a command or key of Redis, nor an object of the media bucket holds a secret', () => {
    expect([...stores.keys()]).toEqual(
      expect.arrayContaining(['table public.jobs', 'table public.content_keys', 'commands of Redis']),
    );
    expect(whereFound(stores, [...configured(), ...formsOf(contentKey)])).toEqual([]);
  });

  test.skipIf(!inject('e2e').seesPods)(
    'no process has a secret in its arguments, except the packager in its own container',
    () => {
      expect(processes.some(({ group }) => group.includes(packager))).toBe(true);
      expect(processes.some(({ name }) => name.startsWith('ffmpeg'))).toBe(true);
      const outside = processes.filter(isOutside);
      const withSecret = outside.filter(({ arguments: text }) =>
        holds(text, [...configured(), ...formsOf(contentKey)]),
      );
      expect(withSecret.map(({ name, arguments: text }) => `${name}: ${text}`)).toEqual([]);
    },
  );

  test.skipIf(!inject('e2e').seesPods)('no process has a secret in its environment that its step does not need', () => {
    const withKey = processes.filter(({ environment }) => holds(environment, formsOf(contentKey)));
    expect(withKey.length).toBeGreaterThan(0);
    expect(withKey.filter(({ group }) => !group.includes(packager))).toEqual([]);
    // The step that decodes untrusted bytes has no key and no credential.
    const decoders = processes.filter(
      ({ environment }) => environment.includes('RUNNER_TASK=') && !/S3_/.test(environment),
    );
    expect(decoders.length).toBeGreaterThan(0);
    expect(decoders.filter(({ environment }) => holds(environment, configured()))).toEqual([]);
    // Runners have the credentials of object storage and no other secret.
    const { s3 } = inject('e2e').servers;
    const runners = processes.filter(({ environment }) => environment.includes('RUNNER_TASK='));
    const others = configured().filter((secret) => secret !== s3.secretAccessKey);
    expect(runners.filter(({ environment }) => holds(environment, others))).toEqual([]);
  });
});

/** Whether a process is neither in the packager's container nor the S3 server of the test. */
function isOutside({ group, name }: HostProcess): boolean {
  return !group.includes(packager) && name !== 'versitygw';
}

/** A process becomes another program soon after its start; what it is then stays as it is. */
const youngMs = 2000;

/**
 * Collects all processes by polling. The packager lives for a quarter of a second, so only young ones are read. One
 * that begins or ends has no environment, so the longest of each is kept.
 */
function watchProcesses() {
  const found = new Map<string, HostProcess>();
  const seenAtMs = new Map<number, number>();
  const isYoung = (pid: number) => {
    const nowMs = performance.now();
    const atMs = seenAtMs.get(pid) ?? nowMs;
    seenAtMs.set(pid, atMs);
    return nowMs - atMs < youngMs;
  };
  const stopping = new AbortController();
  const polling = (async () => {
    while (!stopping.signal.aborted) {
      for (const each of await hostProcesses(isYoung)) {
        const name = `${each.pid} ${each.arguments}`;
        if (each.environment.length >= (found.get(name)?.environment.length ?? 0)) found.set(name, each);
      }
      await sleep(30);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await polling;
      return [...found.values()];
    },
  };
}

/** Every secret that the release was installed with. */
function configured(): string[] {
  const { secrets, servers } = inject('e2e');
  const passwords = [servers.postgres.inCluster, servers.redis.inCluster].map((url) => new URL(url).password);
  const { apiKeys, ...single } = secrets;
  return [...apiKeys, ...Object.values(single), ...passwords, servers.s3.secretAccessKey];
}

/** A key in the encodings in which it could appear in text. */
function formsOf(key: Buffer): string[] {
  const hex = key.toString('hex');
  return [
    hex,
    hex.toUpperCase(),
    key.toString('base64').replace(/=+$/, ''),
    key.toString('base64url'),
    key.toString('latin1'),
    [...key].join(','),
    [...key].join(', '),
  ];
}

function whereFound(dump: Dump, secrets: readonly string[]): string[] {
  return [...dump].filter(([, text]) => holds(text, secrets)).map(([place]) => place);
}

function holds(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => text.includes(secret));
}
