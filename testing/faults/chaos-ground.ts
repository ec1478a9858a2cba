import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '#platform/embedded-postgres/embedded.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { openS3Multipart } from '#platform/storage/s3/s3-multipart.ts';
import { createDatabase } from '../databases.ts';
import { hastyVariables } from '../programs.ts';
import { startProxy } from '../proxy.ts';
import { startRedis, startS3 } from '../servers.ts';
import { startFaultyStorage } from './faulty-storage.ts';
import type { Ground } from './world.ts';

// Servers of a chaos run's own, each behind a proxy, so that it can be cut off, emptied and replaced.

export type ChaosGround = Awaited<ReturnType<typeof openChaosGround>>;

const execute = promisify(execFile);
/** The size of the file system that workspaces are on. */
const workBytes = 256 * 1024 ** 2;
const region = 'us-east-1';

export async function openChaosGround(random: () => number) {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-chaos-'));
  // The embedded server's user must be able to enter it.
  await chmod(dir, 0o755);
  const work = join(dir, 'work');
  await mkdir(work);
  const isSmall = await execute('mount', ['-t', 'tmpfs', '-o', `size=${workBytes}`, 'tmpfs', work]).then(
    () => true,
    () => false,
  );
  const postgresDir = join(dir, 'postgres');
  let postgres = await startEmbeddedPostgres({ dir: postgresDir });
  const { url } = await createDatabase(postgres.url, 'template0');
  const migrated = openDatabase(url);
  await migrate(migrated);
  await migrated.close();
  let redis = await startRedis();
  const [databaseProxy, ownDatabaseProxy] = [await startProxy(url), await startProxy(url)];
  const redisProxy = await startProxy(redis.url);
  const s3 = await startS3();
  const storage = await startFaultyStorage(s3.endpoint, random);
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  const keys = { accessKeyId, secretAccessKey };
  const rest = { region, forcePathStyle: true, checksums: 'when_supported', chainVariables: {} } as const;
  const direct = { endpoint, keys, ...rest, timeoutMs: 10_000 };
  const bucket = (name: string) => openObjectStore({ bucket: name, s3: direct });
  await Promise.all(['source', 'media'].map((name) => mkdir(join(s3.dir ?? '', name), { recursive: true })));
  const variablesOf = (prefix: 'SOURCE' | 'MEDIA') => ({
    [`${prefix}_BUCKET`]: prefix.toLowerCase(),
    [`${prefix}_S3_ENDPOINT`]: storage.endpoint,
    [`${prefix}_S3_ACCESS_KEY_ID`]: accessKeyId,
    [`${prefix}_S3_SECRET_ACCESS_KEY`]: secretAccessKey,
    [`${prefix}_S3_TIMEOUT`]: '5s',
  });
  const at = { databaseUrl: databaseProxy.url, redisUrl: redisProxy.url, source: '', media: '', work };
  const ground: Ground = {
    dir,
    work,
    variables: {
      ...hastyVariables(at),
      ...variablesOf('SOURCE'),
      ...variablesOf('MEDIA'),
      UPLOAD_S3_ACCESS_KEY_ID: accessKeyId,
      UPLOAD_S3_SECRET_ACCESS_KEY: secretAccessKey,
    },
    databaseUrl: ownDatabaseProxy.url,
    source: bucket('source'),
    media: bucket('media'),
    parts: openS3Multipart('source', direct),
    close: async () => {
      for (const proxy of [databaseProxy, ownDatabaseProxy, redisProxy, storage]) await proxy.close();
      for (const server of [postgres, redis, s3]) await server.stop();
      if (isSmall) await execute('umount', ['-l', work]);
      await rm(dir, { recursive: true, force: true });
    },
  };
  return {
    ground,
    databaseProxy,
    redisProxy,
    storage,
    /** Ends the server at once, as a crash does; another serves the same data at another address. */
    async restartPostgres(): Promise<void> {
      const [pid] = (await readFile(join(postgresDir, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), 'SIGQUIT');
      await postgres.stop();
      postgres = await startEmbeddedPostgres({ dir: postgresDir });
      for (const proxy of [databaseProxy, ownDatabaseProxy]) {
        proxy.moveTo(postgres.url);
        await proxy.set('cut');
        await proxy.set('open');
      }
    },
    /** Another, empty server takes its place. */
    async replaceRedis(): Promise<void> {
      await redis.stop();
      redis = await startRedis();
      redisProxy.moveTo(redis.url);
    },
    async flushRedis(): Promise<void> {
      const socket = connect({ port: Number(new URL(redis.url).port), host: '127.0.0.1' });
      socket.write('FLUSHALL\r\n');
      await once(socket, 'data');
      socket.destroy();
    },
    /** Leaves no byte to workspaces, where they have a file system of their own. @returns frees them again */
    async fillDisk(): Promise<() => Promise<void>> {
      const filler = join(work, 'filler');
      if (isSmall) await writeFile(filler, Buffer.alloc(workBytes)).catch(() => undefined);
      return () => rm(filler, { force: true });
    },
  };
}
