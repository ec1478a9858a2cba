import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '#platform/embedded-postgres/embedded.ts';
import { freePort } from './free-port.ts';

// Real servers for tests: each on a free port of this machine, with a temporary folder, without durability,
// and ended with the test process. A server whose program is not on this machine throws MissingServer.

/** The program of a server is not on this machine; `make needs` prints how to install it. */
export class MissingServer extends Error {
  override name = 'MissingServer';
}

export interface RedisServer {
  /** `redis://127.0.0.1:PORT` */
  url: string;
  stop: () => Promise<void>;
}

export interface S3Server {
  /** `http://127.0.0.1:PORT`; path-style addresses, region `us-east-1`. */
  endpoint: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** `moto` takes any secret, so a test of refused credentials asks for `versitygw`. */
  program: 'versitygw' | 'moto';
  /**
   * The folder in which `versitygw` has a folder for each bucket, and in that a file for each object; null for `moto`.
   */
  dir: string | null;
  pid: number | undefined;
  stop: () => Promise<void>;
}

export interface PostgresServer {
  /** A superuser's `postgres://…/postgres`; test files take a database of their own from `databases.ts`. */
  url: string;
  stop: () => Promise<void>;
}

/** Starts a Redis (or Valkey) without persistence and eviction, as BullMQ requires. */
export async function startRedis(): Promise<RedisServer> {
  const program = findProgram('redis-server') ?? findProgram('valkey-server');
  if (!program) throw new MissingServer('no redis-server or valkey-server on PATH');
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-redis-'));
  const port = await freePort();
  const settings = { port, bind: '127.0.0.1', dir, save: '', appendonly: 'no', 'maxmemory-policy': 'noeviction' };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = await startServer({ program, args, dir, isReady: (output) => output.includes('Ready to accept') });
  return { url: `redis://127.0.0.1:${port}`, stop: server.stop };
}

/**
 * Starts an S3 server over a temporary folder: versitygw where there is one, else moto. It has no buckets yet.
 *
 * @param options.hasUsers whether further users can be made, by `addS3User`; versitygw alone has them
 * @param options.corsOrigin the origin of pages that `versitygw` lets in, as in compose.yaml
 */
export async function startS3(
  options: { readonly hasUsers?: boolean; readonly corsOrigin?: string } = {},
): Promise<S3Server> {
  const { corsOrigin } = options;
  const versitygw = findProgram('versitygw');
  const moto = options.hasUsers === true ? null : findProgram('moto_server');
  if (!versitygw && !moto) throw new MissingServer('no versitygw or moto_server on PATH');
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-s3-'));
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const accessKeyId = 'reelwright-test';
  const secretAccessKey = 'reelwright-test-secret';
  const users = options.hasUsers === true ? await mkdtemp(join(tmpdir(), 'reelwright-s3-users-')) : null;
  const versitygwArgs = [
    '--keep-alive',
    '--port',
    `127.0.0.1:${port}`,
    '--access',
    accessKeyId,
    '--secret',
    secretAccessKey,
    ...(users === null ? [] : ['--iam-dir', users]),
    ...(corsOrigin === undefined ? [] : ['--cors-allow-origin', corsOrigin]),
  ];
  const server = await startServer({
    program: versitygw ?? moto ?? '',
    args: versitygw ? [...versitygwArgs, 'posix', dir] : ['-H', '127.0.0.1', '-p', String(port)],
    dir,
    isReady: () => answersHttp(endpoint),
  });
  const kind = versitygw ? ({ program: 'versitygw', dir } as const) : ({ program: 'moto', dir: null } as const);
  const stop = async () => {
    await server.stop();
    if (users !== null) await rm(users, { recursive: true, force: true });
  };
  return { endpoint, accessKeyId, secretAccessKey, ...kind, ...server, stop };
}

/** Makes a user of a versitygw that has users; it has no right but those that policies of buckets give. */
export async function addS3User(server: S3Server, user: { readonly name: string; readonly secret: string }) {
  const admin = ['--access', server.accessKeyId, '--secret', server.secretAccessKey, '--endpoint-url', server.endpoint];
  const create = ['create-user', '--access', user.name, '--secret', user.secret, '--role', 'user'];
  await promisify(execFile)(findProgram('versitygw') ?? '', ['admin', ...admin, ...create]);
}

/** Starts the embedded PostgreSQL, a real server, on a new data folder, with durability off. */
export async function startPostgres(): Promise<PostgresServer> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-postgres-'));
  // As root the server runs under a user of its own, which must be able to enter this folder.
  await chmod(dir, 0o755);
  const guard = startGuard(dir);
  const server = await startEmbeddedPostgres({ dir: join(dir, 'data') });
  const client = new Client({ connectionString: server.url });
  await client.connect();
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    await client.query(`alter system set ${setting} = off`);
  }
  await client.query('select pg_reload_conf()');
  await client.end();
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      guard.kill('SIGKILL');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The path of an executable on PATH, in `.tools/bin`, or in a folder of test assets; null when there is none. */
export function findProgram(name: string): string | null {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    join(import.meta.dirname, '../.tools/bin'),
    process.env['KUBEBUILDER_ASSETS'] ?? '',
    process.env['REELWRIGHT_ASSETS'] ?? '',
  ];
  for (const folder of folders) {
    if (!folder) continue;
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not in this folder; the next one may have it.
    }
  }
  return null;
}

interface ServerCommand {
  program: string;
  args: string[];
  /** Removed when the server stops. */
  dir: string;
  /** Called every 50 ms with the server's output so far. */
  isReady: (output: string) => boolean | Promise<boolean>;
}

async function startServer({ program, args, dir, isReady }: ServerCommand) {
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: dir });
  const guard = startGuard(dir, server);
  let output = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
  server.once('error', (error) => (output += String(error)));
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) server.kill('SIGKILL');
    await ended;
    guard.kill('SIGKILL');
    await rm(dir, { recursive: true, force: true });
  };
  const deadline = Date.now() + 30_000;
  while (!(await isReady(output))) {
    if (server.exitCode !== null || server.pid === undefined || Date.now() > deadline) {
      await stop();
      throw new Error(`${program} did not start: ${output.slice(-2000)}`);
    }
    await sleep(50);
  }
  return { pid: server.pid, stop };
}

/**
 * When a test process is killed, its end of the guard's standard input closes, and the guard ends the server and
 * removes its folder. The embedded PostgreSQL has a guard of its own for its process.
 */
function startGuard(dir: string, server?: ChildProcess): ChildProcess {
  const script = 'cat >/dev/null; [ -z "$2" ] || kill -9 "$2" 2>/dev/null; sleep 1; rm -rf "$1"';
  const args = ['-c', script, 'guard', dir, String(server?.pid ?? '')];
  const guard = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  guard.unref();
  return guard;
}

async function answersHttp(url: string): Promise<boolean> {
  try {
    await (await fetch(url, { signal: AbortSignal.timeout(1000) })).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
