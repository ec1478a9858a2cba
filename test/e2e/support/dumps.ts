import { Redis } from 'ioredis';
import { Client } from 'pg';
import { inject } from 'vitest';
import { kubectl, kubectlJson } from './kubectl.ts';
import type { List, PodObject } from './objects.ts';
import { release } from './release.ts';
import { openBucket } from './service.ts';

// Everything that is stored anywhere, as text to search, by the place where it is stored.

export type Dump = ReadonlyMap<string, string>;

interface AnyObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Every object of every kind that the API server lists, Events too; by `Kind namespace/name`. */
export async function dumpObjects(): Promise<Dump> {
  const found = new Map<string, string>();
  const kinds = (await kubectl('api-resources', '--verbs=list', '-o', 'name')).trim().split('\n');
  for (const kind of kinds) {
    const { items } = await kubectlJson<List<AnyObject>>('get', kind, '--all-namespaces', '--ignore-not-found').catch(
      // A kind that cannot be listed, such as a review.
      () => ({ items: [] }),
    );
    for (const object of items) {
      const { namespace = '', name } = object.metadata;
      found.set(`${object.kind} ${namespace}/${name}`, decoded(object));
    }
  }
  return found;
}

/** The text of an object, with the values of a Secret decoded. */
function decoded(object: AnyObject & { readonly data?: Readonly<Record<string, string>> }): string {
  const values = object.kind === 'Secret' ? Object.values(object.data ?? {}) : [];
  return [JSON.stringify(object), ...values.map((value) => Buffer.from(value, 'base64').toString('latin1'))].join('\n');
}

/** The log of every container of the release and of the runners. */
export async function dumpLogs(): Promise<Dump> {
  const found = new Map<string, string>();
  for (const namespace of [release.namespace, release.runners]) {
    const { items } = await kubectlJson<List<PodObject>>('-n', namespace, 'get', 'pods');
    for (const { metadata, spec } of items) {
      for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
        const logs = kubectl('-n', namespace, 'logs', metadata.name, '-c', name, '--tail=-1');
        found.set(`log of ${name} in ${metadata.name}`, await logs.catch(unlessWaiting));
      }
    }
  }
  return found;
}

/** A step that never started has no log. */
function unlessWaiting(error: unknown): string {
  if (error instanceof Error && error.message.includes('is waiting to start')) return '';
  throw error;
}

/** Every row of every table, of every schema. */
export async function dumpPostgres(): Promise<Dump> {
  const client = new Client({ connectionString: inject('e2e').servers.postgres.onHost });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
    );
    const found = new Map<string, string>();
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      found.set(`table ${name}`, rows.map(({ row }) => row).join('\n'));
    }
    return found;
  } finally {
    await client.end();
  }
}

/** Records every command sent to Redis from now on; `dump` adds every key and its value. */
export async function watchRedis(): Promise<{ dump: () => Promise<Dump> }> {
  const redis = new Redis(inject('e2e').servers.redis.onHost);
  const monitor = await redis.duplicate().monitor();
  const commands: string[] = [];
  monitor.on('monitor', (_time: string, args: string[]) => commands.push(args.join(' ')));
  return {
    dump: async () => {
      const found = new Map([['commands of Redis', commands.join('\n')]]);
      for (const key of await redis.keys('*')) found.set(`Redis ${key}`, JSON.stringify(await valueOf(redis, key)));
      monitor.disconnect();
      redis.disconnect();
      return found;
    },
  };
}

async function valueOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return await redis.get(key);
    case 'hash':
      return await redis.hgetall(key);
    case 'list':
      return await redis.lrange(key, 0, -1);
    case 'set':
      return await redis.smembers(key);
    case 'zset':
      return await redis.zrange(key, '0', '-1');
    case 'stream':
      return await redis.xrange(key, '-', '+');
    default:
      return null;
  }
}

/** Every object of the media bucket, byte for byte. */
export async function dumpMedia(): Promise<Dump> {
  const media = openBucket('media');
  try {
    const found = new Map<string, string>();
    for await (const { key } of media.list('')) {
      const parts: Buffer[] = [];
      const object = await media.get(key);
      for await (const part of object?.body ?? []) parts.push(Buffer.from(part as Uint8Array));
      found.set(`object ${key}`, Buffer.concat(parts).toString('latin1'));
    }
    return found;
  } finally {
    await media.close();
  }
}
