import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { KnownProblem } from '#domain/errors.ts';
import { unlessMissing } from './file-info.ts';

/** How long the real path of a folder is cached. Requests cannot replace folders by links. */
const knownMs = 1_000;
const knownMax = 4_096;

/** The real paths of the folders of a store, whose own folder may be a link, be moved, or be mounted late. */
export class RealFolders {
  readonly #dir: string;
  readonly #known = new Map<string, { readonly real: string; readonly untilMs: number }>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The store's own folder. @throws KnownProblem `storage_error` when it is not there */
  async root(): Promise<string> {
    return this.#kept(this.#dir)?.real ?? this.lookForRoot();
  }

  /** The same, without the cache. */
  async lookForRoot(): Promise<string> {
    this.#known.delete(this.#dir);
    try {
      return this.keep(this.#dir, await realpath(this.#dir));
    } catch (cause) {
      throw new KnownProblem('storage_error', 'The folder of the store cannot be reached.', { cause });
    }
  }

  /** The real path of the folder `names` below `root`, which may lead out of it; null when nothing is there. */
  async find(root: string, names: readonly string[]): Promise<string | null> {
    const path = join(root, ...names);
    if (path === root) return root;
    const kept = this.#kept(path);
    if (kept !== undefined) return kept.real;
    const real = await unlessMissing(() => realpath(path));
    return real === null ? null : this.keep(path, real);
  }

  /** Remembers where `path` leads; returns that. */
  keep(path: string, real: string): string {
    if (this.#known.size >= knownMax) this.#known.clear();
    this.#known.set(path, { real, untilMs: performance.now() + knownMs });
    return real;
  }

  /** Called when something expected in this folder was missing. */
  forget(path: string): void {
    this.#known.delete(path);
  }

  #kept(path: string) {
    const known = this.#known.get(path);
    return known !== undefined && known.untilMs > performance.now() ? known : undefined;
  }
}
