import { randomBytes } from 'node:crypto';
import { link, lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FolderLock, lockFolder } from './folder-lock.ts';

// Everything that the demo keeps: the buckets (two folders), the database, the secrets, scratch, and the log.

export interface DataFolder {
  readonly path: string;
  /** The source bucket. */
  readonly source: string;
  /** The media bucket. */
  readonly media: string;
  readonly work: string;
  readonly database: string;
  readonly secrets: string;
  readonly log: string;
}

const runsAtOnceMax = 8;

/**
 * The first place that is this user's own and no other run's: the checkout's `.reelwright/demo` (`demo-2`, … while
 * others are at work), or, in a checkout of somebody else's, one in `elsewhere`, the system's temporary folder.
 */
export async function openDataFolder(
  checkout: string,
  elsewhere = tmpdir(),
): Promise<{ data: DataFolder; lock: FolderLock }> {
  const places = [
    join(checkout, '.reelwright', 'demo'),
    join(elsewhere, `reelwright-demo-${process.getuid?.() ?? ''}`),
  ];
  for (const place of places) {
    for (let run = 1; run <= runsAtOnceMax; run += 1) {
      const folder = run === 1 ? place : `${place}-${run}`;
      if (!(await isOwn(folder))) break;
      const lock = await lockFolder(folder);
      if (lock !== null) return { data: await dataFolderAt(folder), lock };
    }
  }
  throw new Error(`neither ${places.join(' nor ')} is a folder of this user's own to write in`);
}

/** The same below a folder of the caller's, which is made when it is not there. */
export async function dataFolderAt(path: string): Promise<DataFolder> {
  const folder: DataFolder = {
    path,
    source: join(path, 'source'),
    media: join(path, 'media'),
    work: join(path, 'work'),
    database: join(path, 'database'),
    secrets: join(path, 'secrets'),
    log: join(path, 'service.log'),
  };
  for (const part of [folder.source, folder.media, folder.work]) await mkdir(part, { recursive: true });
  await mkdir(folder.secrets, { recursive: true, mode: 0o700 });
  return folder;
}

async function isOwn(place: string): Promise<boolean> {
  try {
    // As root the database's server has a user of its own, who must be able to pass.
    await mkdir(place, { recursive: true, mode: 0o755 });
    const found = await lstat(place);
    const isMine = process.getuid === undefined || found.uid === process.getuid();
    const probe = join(place, '.writable');
    await writeFile(probe, '');
    await rm(probe);
    return found.isDirectory() && isMine && (found.mode & 0o022) === 0;
  } catch {
    return false;
  }
}

const secretNames = ['API_KEY', 'KEY_TOKEN_SECRET', 'WEBHOOK_SECRET', 'ENCRYPTION_KEY'] as const;
export type SecretName = (typeof secretNames)[number];

export interface Secrets {
  readonly values: Readonly<Record<SecretName, string>>;
  /** `API_KEY_FILE` and so on: the service reads the files, so that no secret stands in its environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The secrets, made at random by the first run: a stored content key opens only with the secret that wrapped it. */
export async function readOrMakeSecrets({ secrets: dir }: DataFolder): Promise<Secrets> {
  const values: [SecretName, string][] = [];
  for (const name of secretNames) values.push([name, await readOrMake(join(dir, name))]);
  return {
    values: Object.fromEntries(values) as Record<SecretName, string>,
    environment: Object.fromEntries(secretNames.map((name) => [`${name}_FILE`, join(dir, name)])),
  };
}

/** Two runs that begin at once end up with one secret: linking fails for the second. */
async function readOrMake(file: string): Promise<string> {
  const known = await readFile(file, 'utf8').catch(() => '');
  if (known !== '') return known.trim();
  const own = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(own, randomBytes(32).toString('base64url'), { mode: 0o600 });
  try {
    await link(own, file);
  } catch (error) {
    // A file system without hard links has no second run to fear either.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rename(own, file);
  } finally {
    await rm(own, { force: true });
  }
  return (await readFile(file, 'utf8')).trim();
}
