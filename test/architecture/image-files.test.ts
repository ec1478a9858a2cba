import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { importsOf, readSources } from '../../testing/imports.ts';

// The images hold the folders that the Dockerfile copies and nothing else of the tree.

const dockerfile = readFileSync('Dockerfile', 'utf8');
const allowed = readFileSync('.dockerignore', 'utf8').split('\n');
const sources = readSources('.').filter(({ path }) => !path.endsWith('.test.ts'));

/** The files and folders that a stage of the Dockerfile copies out of the tree. */
function copiedPaths(stage: string): string[] {
  const text = dockerfile.split(/^FROM /m).find((part) => part.split('\n')[0]?.endsWith(` AS ${stage}`)) ?? '';
  return [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
}

/** The file of the tree that an import names; null for a package. */
function fileOf(specifier: string, importer: string): string | null {
  if (specifier.startsWith('.')) return normalize(join(importer, '..', specifier));
  return specifier.startsWith('#') ? specifier.slice(1) : null;
}

test.each(['reelwright', 'runner'])('the image %s holds every file that its modules import', (stage) => {
  const copied = copiedPaths(stage);
  const isCopied = (path: string) => copied.some((root) => path === root || path.startsWith(`${root}/`));
  const modules = sources.filter(({ path }) => isCopied(path));
  expect(modules.length).toBeGreaterThan(20);
  const missing = modules.flatMap(({ path, text }) =>
    importsOf(text)
      .map((specifier) => fileOf(specifier, path))
      .filter((file) => file !== null && !isCopied(file))
      .map((file) => `${path} imports ${file}`),
  );
  expect(missing).toEqual([]);
});

test('.dockerignore lets every copied file reach the build', () => {
  const roots = ['dependencies', 'reelwright', 'runner'].flatMap(copiedPaths).map((path) => path.split('/')[0] ?? '');
  expect(roots.filter((root) => !allowed.includes(`!${root}`))).toEqual([]);
});
