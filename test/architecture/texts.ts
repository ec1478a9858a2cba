import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A text file of the repository. */
export interface TextFile {
  /** From the root of the tree, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** Folders that are not the project's own: installed, built or written by tests. */
const foreignFolders = new Set(['node_modules', '.git', '.tools', '.reelwright', 'test-results', 'coverage', 'vendor']);
const foreignFiles = new Set(['package-lock.json']);
const isText = (name: string) => !/\.(?:png|jpe?g|webp|gif|avif|mp4|mov|woff2?|ico|gz|tgz)$/.test(name);

/** Every text file below `root` that belongs to the project, folders that begin with a dot included. */
export function readTexts(root: string, folder = root): TextFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return foreignFolders.has(entry.name) ? [] : readTexts(root, path);
    if (!entry.isFile() || foreignFiles.has(entry.name) || !isText(entry.name)) return [];
    return [{ path: relative(root, path), text: readFileSync(path, 'utf8') }];
  });
}
