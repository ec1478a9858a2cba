import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, type ToolName } from '#platform/commands/find-program.ts';
import { checkout } from './checkout.ts';
import { ownPath } from './import-graph.ts';
import { importsOf } from './imports.ts';

// Folders of files that tests start from (clips, streams to compare with): each is made once for all files of tests,
// worker processes and runs, and again when anything that it depends on has changed.
//
//   no folder ─ lock ─> no folder ─> made in a temporary folder ─ rename ─> folder ─ unused for long ─> removed
//                 └───> folder: another process has made it meanwhile

/** The things that a folder depends on. */
export interface Recipe {
  /** Names the folder, for people. */
  readonly name: string;
  /** Arguments and digests of sources, as JSON. */
  readonly from: unknown;
  /** Paths from the root of the tree of the modules that make it; they count with all that they import. */
  readonly code: readonly string[];
  /** Programs, which count by their versions. */
  readonly tools?: readonly ToolName[];
}

/** Where folders are kept, of which tree the code is, and how much may be kept. */
export interface Shelf {
  readonly folder: string;
  readonly tree: string;
  readonly bytesMax: number;
}

const dayMs = 24 * 3600 * 1000;
const unusedDaysMax = 14;

export const shelf: Shelf = {
  folder: join(checkout, 'node_modules/.cache/tests'),
  tree: checkout,
  bytesMax: 4 * 1024 ** 3,
};

/**
 * The path of a folder that `make` fills once. Nothing may be written into it: it is everybody's, in later runs too.
 *
 * @throws whatever making it throws, which is not remembered
 */
export async function madeOnce(
  recipe: Recipe,
  make: (folder: string) => Promise<void>,
  { folder: shelfFolder, tree, bytesMax }: Shelf = shelf,
): Promise<string> {
  const folder = join(shelfFolder, `${recipe.name}-${await recipeDigest(recipe, tree)}`);
  if (await isThere(folder)) return folder;
  await mkdir(shelfFolder, { recursive: true });
  const unlock = await lock(folder);
  try {
    if (await isThere(folder)) return folder;
    const unfinished = await mkdtemp(join(shelfFolder, 'unfinished-'));
    try {
      await make(unfinished);
      await rename(unfinished, folder).catch(async (error: unknown) => {
        if (!(await isThere(folder))) throw error;
      });
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
    if (!tidied.has(shelfFolder)) await removeUnused(shelfFolder, bytesMax);
    tidied.add(shelfFolder);
  } finally {
    unlock();
  }
  return folder;
}

/** Whether a folder is there. Its modification time becomes the time of its last use. */
async function isThere(folder: string): Promise<boolean> {
  const now = new Date();
  return utimes(folder, now, now).then(
    () => true,
    () => false,
  );
}

async function recipeDigest({ from, code, tools = [] }: Recipe, tree: string): Promise<string> {
  const versions = await Promise.all(tools.map(toolVersion));
  const parts = JSON.stringify([from, await codeDigest(code, tree), versions]);
  return createHash('sha256').update(parts).digest('hex').slice(0, 16);
}

const codeDigests = new Map<string, Promise<string>>();

/** The digest of modules with all that they import. Code is read once: a process runs what it has loaded. */
function codeDigest(modules: readonly string[], tree: string): Promise<string> {
  const name = JSON.stringify([modules, tree]);
  const digest = codeDigests.get(name) ?? readCode(modules, tree);
  codeDigests.set(name, digest);
  return digest;
}

async function readCode(modules: readonly string[], tree: string): Promise<string> {
  const texts = new Map<string, string>();
  const reached = new Set(modules);
  for (const path of reached) {
    // A specifier in a string or a package's own `#imports` names no file of the tree.
    const text = await readFile(join(tree, path), 'utf8').catch(() => null);
    if (text === null) continue;
    texts.set(path, text);
    for (const specifier of importsOf(text)) {
      const target = ownPath(path, specifier);
      if (target !== null) reached.add(target);
    }
  }
  const sorted = [...texts].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}

const versions = new Map<string, Promise<string>>();

function toolVersion(tool: ToolName): Promise<string> {
  const program = findProgram(tool, process.env);
  const version =
    versions.get(program) ??
    promisify(execFile)(program, [tool === 'packager' ? '--version' : '-version']).then(({ stdout }) => stdout);
  versions.set(program, version);
  return version;
}

/**
 * Waits for a folder's lock and takes it. The lock is a socket whose name is no file: the system takes it from a
 * process that dies, and those that wait are connected to it and so notice. Only Linux has such names; elsewhere two
 * processes may make the same folder, of which one stays.
 */
async function lock(folder: string): Promise<() => void> {
  const name = `\0reelwright-${createHash('sha256').update(folder).digest('hex')}`;
  for (;;) {
    const waiting = new Set<Socket>();
    const server = createServer((socket) => waiting.add(socket.on('error', () => socket.destroy())));
    const listening = once(server, 'listening');
    server.listen(name);
    try {
      await listening;
      return () => {
        server.close();
        for (const socket of waiting) socket.destroy();
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return () => undefined;
    }
    // An owner that has just ended refuses the connection.
    await once(connect(name).resume(), 'close').catch(() => undefined);
  }
}

/** Shelves whose old folders this process has removed: once is enough for a run. */
const tidied = new Set<string>();

/** Removes folders that were not used for long and, beyond `bytesMax`, those that were not used for longest. */
async function removeUnused(shelfFolder: string, bytesMax: number): Promise<void> {
  const now = Date.now();
  const entries = await Promise.all(
    (await readdir(shelfFolder)).map(async (name) => {
      const path = join(shelfFolder, name);
      const usedMs = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => now,
      );
      return { path, usedMs, bytes: await bytesIn(path) };
    }),
  );
  let bytes = 0;
  for (const entry of entries.toSorted((one, other) => other.usedMs - one.usedMs)) {
    bytes += entry.bytes;
    const unusedMs = now - entry.usedMs;
    // What was used within a day may be in use.
    if (unusedMs > unusedDaysMax * dayMs || (bytes > bytesMax && unusedMs > dayMs))
      await rm(entry.path, { recursive: true, force: true });
  }
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map((entry) =>
    stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
