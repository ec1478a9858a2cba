import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A source file, with its imports. */
export interface SourceFile {
  /** From the root of the tree, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** Folders of other people's files, or of none that are source. */
const passedOver = new Set(['node_modules', 'test-results', 'coverage', 'vendor']);
const isSource = (name: string) => /\.(?:ts|js|mjs|cjs|mts)$/.test(name);

/** Every source file of the tree below `root`, folders that begin with a dot left out. */
export function readSources(root: string, folder = root): SourceFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      return entry.name.startsWith('.') || passedOver.has(entry.name) ? [] : readSources(root, path);
    }
    if (!entry.isFile() || !isSource(entry.name)) return [];
    return [{ path: relative(root, path), text: readFileSync(path, 'utf8') }];
  });
}

/** `import … from`, `export … from` and `import '…'` at the beginning of a line, as prettier writes them. */
const statement = /^(?:import|export)\b(?:[^;'"]*?\bfrom)?\s*['"]([^'"]+)['"]/gm;
/** `import(…)`, also in types, `require(…)` and `require.resolve(…)` of one literal. */
const call = /\b(?:import|require(?:\.resolve)?)\(\s*['"]([^'"]+)['"]/g;
/** The same of anything else. */
const unreadableCall = /\bimport\(\s*(?!['"]|\)|\s)[^)\n]*/g;

/** Every module that a file names, types included. */
export function importsOf(text: string): string[] {
  const code = withoutComments(text);
  return [...code.matchAll(statement), ...code.matchAll(call)].map(([, specifier = '']) => specifier);
}

/** The modules that are loaded before a file runs: neither those of `import()` nor of types alone. */
export function staticImportsOf(text: string): string[] {
  const statements = [...withoutComments(text).matchAll(statement)];
  return statements
    .filter(([found]) => !/^(?:import|export) type\b/.test(found))
    .map(([, specifier = '']) => specifier);
}

/** Dynamic imports whose module cannot be read off the text. */
export function unreadableImportsOf(text: string): string[] {
  return [...withoutComments(text).matchAll(unreadableCall)].map(([found]) => found);
}

/** Comments that begin a line, or follow a space: enough for code that prettier wrote, and it leaves URLs alone. */
export function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}
