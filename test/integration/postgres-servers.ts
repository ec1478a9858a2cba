import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, inject } from 'vitest';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { createDatabase, emptyTables, migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { findProgram } from '../../testing/servers.ts';
import { freePort } from '../../testing/free-port.ts';

const run = promisify(execFile);

interface Stores {
  database: Database;
  jobs: JobStore;
}

/** One suite for both servers: each gets a migrated database, whose jobs are deleted before every test. */
export function describeStores(title: string, tests: (stores: Stores) => void): void {
  describe.each(serverKinds)(`${title} on the %s PostgreSQL`, (kind) => {
    describe.skipIf(!isAvailable(kind))('with a real server', () => {
      const stores = {} as Stores;
      let close: (() => Promise<void>) | undefined;
      beforeAll(async () => {
        const server = await startServer(kind);
        const { url, drop } = await server.newDatabase();
        stores.database = openDatabase(url, { maxConnections: 20 });
        stores.jobs = new JobStore(stores.database);
        close = async () => {
          await stores.database.close();
          await drop();
          await server.stop();
        };
        await migrate(stores.database);
      });
      afterAll(() => close?.());
      beforeEach(() => emptyTables(stores.database.pool, ['jobs', 'content_keys', 'key_values']));
      tests(stores);
    });
  });
}

/**
 * The two PostgreSQL servers that the stores are held against: the embedded one, and the machine's own where there is
 * one.
 */
const serverKinds = ['embedded', 'system'] as const;
type ServerKind = (typeof serverKinds)[number];

const systemPrograms = await findSystemPrograms();

function isAvailable(kind: ServerKind): boolean {
  return kind === 'embedded' ? inject('postgres') !== null : systemPrograms !== null;
}

interface Server {
  /** A new database without rows, migrated or not. */
  newDatabase(): Promise<TestDatabase>;
  stop(): Promise<void>;
}

async function startServer(kind: ServerKind): Promise<Server> {
  if (kind === 'system') return await startSystemServer(systemPrograms ?? '');
  return { newDatabase: migratedDatabase, stop: () => Promise.resolve() };
}

/** The folder with `postgres` and `initdb`: Debian keeps them apart from PATH. */
async function findSystemPrograms(): Promise<string | null> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => []);
  const folders = versions.toSorted((a, b) => Number(b) - Number(a)).map((name) => `/usr/lib/postgresql/${name}/bin`);
  const onPath = findProgram('initdb');
  if (onPath !== null) folders.push(join(onPath, '..'));
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))) ?? null;
}

async function startSystemServer(programs: string): Promise<Server> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-system-postgres-'));
  const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined;
  if (user !== undefined) await chown(dir, user.uid, user.gid);
  const as = { cwd: '/', ...user };
  await run(join(programs, 'initdb'), ['-D', join(dir, 'data'), '-U', 'postgres', '-A', 'trust', '--no-sync'], as);
  const port = await freePort();
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // The shell ends the server when this process closes the pipe, or is killed.
  const script = '"$@" </dev/null & read -r _; kill -QUIT $!; wait; rm -rf "$0"';
  const args = ['-c', script, dir, join(programs, 'postgres'), '-D', join(dir, 'data'), ...flags];
  const server = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], ...as });
  const exited = once(server, 'exit');
  const stop = async () => {
    server.stdin.end();
    await exited;
    await rm(dir, { recursive: true, force: true });
  };
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  for (let tries = 0; !(await answers(url)); tries++) {
    if (tries > 300) {
      await stop();
      throw new Error('the system PostgreSQL did not start');
    }
    await sleep(100);
  }
  return { newDatabase: () => createDatabase(url, 'template0'), stop };
}

/** The server does not run as root. */
async function unprivilegedUser(): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all([run('id', ['-u', 'nobody']), run('id', ['-g', 'nobody'])]);
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
