import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { createDatabase } from '../../../testing/databases.ts';
import { startPostgres, startRedis, startS3 } from '../../../testing/servers.ts';

// Postgres, Redis and an S3 server on this machine, which pods reach at the host's address: no image of them has to be
// pulled, and a test can inspect each (docs/decisions/0030).

export const buckets = { source: 'reelwright-source', media: 'reelwright-media' } as const;

export interface Address {
  /** The address for pods. */
  readonly inCluster: string;
  /** The address for this machine. */
  readonly onHost: string;
}

export interface HostServers {
  readonly postgres: Address;
  readonly redis: Address;
  readonly s3: Address & { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly stop: () => Promise<void>;
}

/** Starts the three servers, and for each a forwarder on `hostAddress`. */
export async function startHostServers(hostAddress: string): Promise<HostServers> {
  const [postgres, redis, s3] = [await startPostgres(), await startRedis(), await startS3()];
  const database = await createDatabase(postgres.url, 'template0');
  const redisPassword = await setRedisPassword(redis.url);
  await makeBuckets(s3);
  const forwarders = await Promise.all(
    [postgres.url, redis.url, s3.endpoint].map((url) => openForwarder(Number(new URL(url).port), hostAddress)),
  );
  const [toPostgres, toRedis, toS3] = forwarders as [Forwarder, Forwarder, Forwarder];
  const at = (url: string, { port }: Forwarder): string => {
    const address = new URL(url);
    address.hostname = hostAddress;
    address.port = String(port);
    return address.href.replace(/\/$/, '');
  };
  const redisUrl = redis.url.replace('redis://', `redis://:${redisPassword}@`);
  const { accessKeyId, secretAccessKey } = s3;
  return {
    postgres: { inCluster: at(database.url, toPostgres), onHost: database.url },
    redis: { inCluster: at(redisUrl, toRedis), onHost: redisUrl },
    s3: { inCluster: at(s3.endpoint, toS3), onHost: s3.endpoint, accessKeyId, secretAccessKey },
    stop: async () => {
      await Promise.all(forwarders.map((forwarder) => forwarder.close()));
      await Promise.all([postgres.stop(), redis.stop(), s3.stop()]);
    },
  };
}

/** Opens a bucket from this machine. */
export function bucketOf({ s3 }: Pick<HostServers, 's3'>, which: keyof typeof buckets): ObjectStore {
  const { accessKeyId, secretAccessKey } = s3;
  return openObjectStore({
    bucket: buckets[which],
    s3: {
      endpoint: s3.onHost,
      region: 'us-east-1',
      keys: { accessKeyId, secretAccessKey },
      forcePathStyle: true,
      checksums: 'when_supported',
      timeoutMs: 30_000,
      chainVariables: {},
    },
  });
}

/** The address to listen on: `hostAddress` where this machine has it, else all (a machine in between forwards it). */
export function listenAddress(hostAddress: string): string {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? []);
  return own.includes(hostAddress) ? hostAddress : '0.0.0.0';
}

async function setRedisPassword(url: string): Promise<string> {
  const password = randomBytes(16).toString('hex');
  const redis = new Redis(url);
  await redis.config('SET', 'requirepass', password);
  redis.disconnect();
  return password;
}

async function makeBuckets(s3: Awaited<ReturnType<typeof startS3>>): Promise<void> {
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
  for (const Bucket of Object.values(buckets)) await client.send(new CreateBucketCommand({ Bucket }));
  client.destroy();
}

interface Forwarder {
  readonly port: number;
  close(): Promise<void>;
}

/** Forwards connections on `hostAddress` to a port of the loopback address. */
async function openForwarder(port: number, hostAddress: string): Promise<Forwarder> {
  const sockets = new Set<Socket>();
  // Half open: when one side has ended, the other may still send. An error of one side ends both.
  const server = createServer({ allowHalfOpen: true }, (outside) => {
    const inside = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [outside, inside]) {
      sockets.add(socket.setNoDelay(true));
      socket.on('close', () => sockets.delete(socket));
    }
    pipeline(outside, inside, () => {});
    pipeline(inside, outside, () => {});
  });
  server.listen(0, listenAddress(hostAddress));
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
