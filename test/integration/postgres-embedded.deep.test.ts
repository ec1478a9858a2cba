import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, lstat, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { removeFolder } from '../../testing/remove-folder.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');
const isRoot = process.getuid?.() === 0;
const script = 'test/integration/postgres-embedded-process.ts';

type Starter = ChildProcessByStdio<Writable, Readable, Readable>;

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

const isUp = (url: string) =>
  query(url, 'select 1').then(
    () => true,
    () => false,
  );

/** A checkout with what the server needs, as npm leaves it when it may run no install scripts. */
const copyCheckout = async (to: string): Promise<string> => {
  await mkdir(join(to, 'node_modules'), { recursive: true });
  for (const path of ['package.json', 'platform/embedded-postgres', 'platform/commands', script])
    await cp(join(repository, path), join(to, path), { recursive: true });
  for (const name of await readdir(join(repository, 'node_modules'))) {
    const [from, into] = [join(repository, 'node_modules', name), join(to, 'node_modules', name)];
    const isNeeded = /^(?:@?embedded-postgres|pg|pg-.*|pgpass|postgres-.*|split2|xtend)$/.test(name);
    if (!isNeeded) await symlink(from, into);
    else
      await cp(from, into, {
        recursive: true,
        filter: async (path) => !(await lstat(path)).isSymbolicLink(),
      });
  }
  // Another user may not be able to reach the Node of this checkout.
  await cp(process.execPath, join(to, 'node'));
  return to;
};

// The global setup starts the embedded server too; where it could not, there is nothing to hold these tests against.
describe.skipIf(!inject('postgres'))('the embedded PostgreSQL', () => {
  let home: string;
  let dir: string;
  let outsideDir: string;
  let starters: Starter[];

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'reelwright-embedded-'));
    await chmod(home, 0o755);
    dir = join(home, 'data');
    outsideDir = join(home, 'outside');
    starters = [];
  });
  afterEach(async () => {
    await Promise.all(starters.map((starter) => stop(starter)));
    // A server that ends by itself may still be writing its last words.
    await removeFolder(home);
  });

  interface Start {
    checkout?: string;
    in?: string;
    mode?: 'hold' | 'forget';
    as?: { uid: number; gid: number };
    umask?: string;
  }
  const launch = ({
    checkout = repository,
    in: where = dir,
    mode = 'hold',
    as,
    umask = '022',
  }: Start = {}): Starter => {
    const program = checkout === repository ? process.execPath : join(checkout, 'node');
    const node = [program, join(checkout, script), checkout, where, outsideDir, mode];
    const starter = spawn('/bin/sh', ['-c', `umask ${umask}; exec "$@"`, 'sh', ...node], {
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe'],
      ...as,
    });
    starters.push(starter);
    return starter;
  };
  const addressOf = async (starter: Starter): Promise<string> => {
    let [output, errors] = ['', ''];
    starter.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    for await (const chunk of starter.stdout.iterator({ destroyOnReturn: false })) {
      output += String(chunk);
      if (output.endsWith('\n')) return output.trim();
    }
    throw new Error(errors);
  };
  const start = (how: Start = {}) => addressOf(launch(how));
  const stop = async (starter: Starter | undefined) => {
    if (starter === undefined || starter.exitCode !== null || starter.signalCode !== null) return;
    const exited = once(starter, 'exit');
    starter.stdin.end();
    await exited;
  };
  const pidOf = async (cluster = join(dir, 'postgres')) =>
    Number((await readFile(join(cluster, 'data/postmaster.pid'), 'utf8')).split('\n')[0]);

  test('processes that start on one folder at the same time share one server', async () => {
    const urls = await Promise.all([start(), start(), start()]);
    expect(new Set(urls).size).toBe(1);
    const later = await start();
    expect(later).toBe(urls[0]);
    expect((await readdir(dir)).toSorted()).toEqual(['postgres', 'server.log']);
  });

  test.each(['SIGKILL', 'SIGTERM'] as const)('a starter that dies of %s takes its server along', async (signal) => {
    const url = await start();
    starters[0]?.kill(signal);
    await expect.poll(() => isUp(url), { timeout: 10_000 }).toBe(false);
    expect(await isUp(await start())).toBe(true);
  });

  test('the next start recovers after server and starter were killed together', async () => {
    const url = await start();
    await query(url, 'create table kept as select 42 as n');
    const server = await pidOf();
    const { stdout } = await run('ps', ['-o', 'ppid=', '-p', String(server)]);
    for (const pid of [Number(stdout), starters[0]?.pid ?? 0, server]) process.kill(pid, 'SIGKILL');
    expect(await query(await start(), 'select n from kept')).toEqual([{ n: 42 }]);
  });

  test('a postmaster.pid that names another program does not prevent a start', async () => {
    await start();
    await stop(starters[0]);
    const pidFile = join(dir, 'postgres/data/postmaster.pid');
    await writeFile(pidFile, `${process.pid}\n${join(dir, 'postgres/data')}\n1\n5432\n\n127.0.0.1\n\nready   \n`);
    expect(await isUp(await start())).toBe(true);
  });

  test('the server listens on this machine only and asks for a password', async () => {
    const url = await start();
    const wrong = new URL(url);
    wrong.password = 'postgres';
    await expect(query(wrong.href, 'select 1')).rejects.toThrow('password authentication failed');
    wrong.password = '';
    await expect(query(wrong.href, 'select 1')).rejects.toThrow(Error);
    expect(new URL(url).hostname).toBe('127.0.0.1');
    expect(await query(url, `select current_setting('listen_addresses') as at`)).toEqual([{ at: '127.0.0.1' }]);
    const rules = await query(url, 'select distinct auth_method from pg_hba_file_rules');
    expect(rules).toEqual([{ auth_method: 'scram-sha-256' }]);
    const cluster = await lstat(join(dir, 'postgres'));
    expect(cluster.mode & 0o077).toBe(0);
  });

  test('the server inherits no environment variables of its starter', async () => {
    await start();
    const pid = await pidOf();
    const { uid, gid } = await lstat(`/proc/${pid}`);
    const { stdout } = await run('cat', [`/proc/${pid}/environ`], isRoot ? { uid, gid } : {});
    const names = stdout.split('\0').map((line) => line.split('=')[0]);
    expect(names).toContain('PATH');
    expect(names).not.toContain('HOME');
  });

  test.skipIf(!isRoot)('root runs it as another user, in the folder itself when that user can reach it', async () => {
    const url = await start();
    const { uid } = await lstat(`/proc/${await pidOf()}`);
    expect(uid).not.toBe(0);
    // Where this checkout itself is closed to that user, the programs lie outside; the data never do then.
    const outside = await readdir(outsideDir).catch(() => []);
    expect(outside.filter((name) => !name.startsWith('postgres-programs-'))).toEqual([]);
    expect(await pidOf()).toBeGreaterThan(0);
    expect(await isUp(url)).toBe(true);
  });

  test.skipIf(!isRoot)(
    'root runs it from a checkout in a folder that only root can read, whatever its umask: outside, under a pointer',
    async () => {
      const checkout = await copyCheckout(join(home, 'closed', 'checkout'));
      await chmod(dirname(checkout), 0o700);
      const where = join(checkout, '.reelwright/postgres');
      const url = await start({ checkout, in: where, umask: '077' });
      await query(url, 'create table kept as select 42 as n');
      const pointed = (await readFile(join(where, 'postgres-is-at'), 'utf8')).trim();
      expect(dirname(pointed)).toBe(outsideDir);
      expect(await pidOf(join(pointed, 'postgres'))).toBeGreaterThan(0);
      expect((await lstat(outsideDir)).mode & 0o022).toBe(0);
      await stop(starters[0]);
      const again = await start({ checkout, in: where });
      expect(await query(again, 'select n from kept')).toEqual([{ n: 42 }]);
      expect(await readdir(outsideDir)).toHaveLength(2);
    },
  );

  test.skipIf(!isRoot)('a user who may not write to node_modules gets a finished copy beside the data', async () => {
    const user = { uid: 65534, gid: 65534 };
    const checkout = await copyCheckout(join(home, 'checkout'));
    await mkdir(dir);
    await chown(dir, user.uid, user.gid);
    const url = await start({ checkout, as: user });
    expect(await query(url, 'select 1 as n')).toEqual([{ n: 1 }]);
    expect((await readdir(dir)).some((name) => name.startsWith('postgres-programs-'))).toBe(true);
  });
});
