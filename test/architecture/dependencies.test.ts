import { existsSync } from 'node:fs';
import { join } from 'node:path/posix';
import { describe, expect, it } from 'vitest';
import { ownPath } from '../../testing/import-graph.ts';
import {
  importsOf,
  readSources,
  type SourceFile,
  unreadableImportsOf,
  withoutComments,
} from '../../testing/imports.ts';
import { modules, programs } from './module-rules.ts';

// The dependencies between the modules of the tree: main → api, delivery, controller → jobs → platform → domain.

const root = join(import.meta.dirname, '../..');
const sources = readSources(root);
const isTest = ({ path }: SourceFile) => path.endsWith('.test.ts');

/** The module of a path: its top folder, its folder of the platform, or the file itself at the top. */
function moduleOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  return top === 'platform' ? `${top}/${second}` : top;
}

/** The top folder, which the modules of the platform share. */
function topFolderOf(path: string): string | undefined {
  return path.split('/')[0];
}

function mayImport(from: string, to: string): boolean {
  const allowed = modules[from]?.imports ?? [];
  return from === to || allowed.some((other) => (other.endsWith('/') ? to.startsWith(other) : to === other));
}

/** A test beside the code may use what tests share. */
function isOfTests(path: string, target: string): boolean {
  return path.endsWith('.test.ts') && moduleOf(target) === 'testing';
}

function isProgramOrTest(module: string): boolean {
  const others = ['examples', 'test', 'testing', 'vitest.config.ts'];
  return ['main.ts', 'http-service.ts', 'cli', 'demo', 'scripts', 'bench', ...others].includes(module);
}

/** The faults that `check` finds in the files, as `path: what`. */
function faults(files: readonly SourceFile[], check: (file: SourceFile) => readonly string[]): string[] {
  return files.flatMap((file) => check(file).map((fault) => `${file.path}: ${fault}`));
}

describe('the module rules', () => {
  it('name exactly the folders that hold source files', () => {
    expect(new Set(sources.map(({ path }) => moduleOf(path)))).toEqual(new Set(Object.keys(modules)));
  });

  it('name only modules and allow no cycle', () => {
    const names = Object.keys(modules);
    const next = (name: string) => names.filter((other) => other !== name && mayImport(name, other));
    const reach = (name: string, seen = new Set<string>()): Set<string> => {
      for (const other of next(name)) if (!seen.has(other)) reach(other, seen.add(other));
      return seen;
    };
    expect(names.filter((name) => reach(name).has(name))).toEqual([]);
    const named = Object.values(modules).flatMap(({ imports }) => imports);
    expect(
      named.filter((name) => !names.some((other) => other === name || (name.endsWith('/') && other.startsWith(name)))),
    ).toEqual([]);
  });

  it('the module rules are checked against imports found in every module', () => {
    const withImports = sources.filter(({ text }) => importsOf(text).length > 0).map(({ path }) => moduleOf(path));
    expect(new Set(withImports)).toEqual(new Set(Object.keys(modules)));
  });
});

describe('an import', () => {
  it('an import of another module is one that the rules allow', () => {
    const wrong = faults(sources, ({ path, text }) =>
      importsOf(text).filter((specifier) => {
        const target = ownPath(path, specifier);
        return target !== null && !isOfTests(path, target) && !mayImport(moduleOf(path), moduleOf(target));
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('an import names an existing file with its extension', () => {
    const wrong = faults(sources, ({ path, text }) =>
      importsOf(text).filter((specifier) => {
        const target = ownPath(path, specifier);
        return target !== null && (!existsSync(join(root, target)) || !/\.\w+$/.test(target));
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('an import is relative inside a module and begins with # across modules', () => {
    const wrong = faults(sources, ({ path, text }) =>
      importsOf(text).filter((specifier) => {
        const target = ownPath(path, specifier);
        // Folders of the platform may name each other both ways. Programs and tests are not held to one form.
        if (target === null || topFolderOf(path) === 'platform' || isProgramOrTest(moduleOf(path))) return false;
        if (isOfTests(path, target)) return false;
        return specifier.startsWith('#') === (topFolderOf(path) === topFolderOf(target));
      }),
    );
    expect(wrong).toEqual([]);
  });

  /** Loads the handler of a job type by its name. */
  const loader = 'runner/handlers/index.ts';

  it('every import is a literal except of the job handlers', () => {
    const wrong = faults(
      sources.filter((file) => !isTest(file) && !file.path.startsWith('test/') && file.path !== loader),
      ({ text }) => unreadableImportsOf(text),
    );
    expect(wrong).toEqual([]);
  });

  it('an import of a package is one that the rules allow', () => {
    const wrong = faults(
      sources.filter((file) => !isTest(file)),
      ({ path, text }) => {
        const packages = modules[moduleOf(path)]?.packages;
        return importsOf(text).filter(
          (specifier) => ownPath(path, specifier) === null && packages !== undefined && !packages.includes(specifier),
        );
      },
    );
    expect(wrong).toEqual([]);
  });
});

describe('process.env and process.argv', () => {
  it('process.env and process.argv are read by programs alone', () => {
    const reading =
      /\bprocess\s*(?:\?\.|\.)\s*(?:env|argv)\b|\bprocess\[|\b(?:env|argv)\b[^;]*\}\s*from\s+'(?:node:)?process'/g;
    const wrong = faults(
      sources.filter((file) => !isTest(file)),
      ({ path, text }) => {
        if (modules[moduleOf(path)]?.isProgram === true || programs.includes(path)) return [];
        return [...withoutComments(text).matchAll(reading)].map(([found]) => found);
      },
    );
    expect(wrong).toEqual([]);
  });
});

describe('reading imports off a text', () => {
  it.each([
    ["import a from 'a';", ['a']],
    ["import { b, type C } from './b.ts';", ['./b.ts']],
    ["import {\n  b,\n  c,\n} from '#domain/b.ts';", ['#domain/b.ts']],
    ["import type { D } from '../d.ts';", ['../d.ts']],
    ["import * as e from 'node:e';", ['node:e']],
    ["import 'f';", ['f']],
    ["export { g } from './g.ts';\nexport * from './h.ts';", ['./g.ts', './h.ts']],
    ["const i = await import('i');", ['i']],
    [
      "type J = typeof import('j');\nconst k = require('k');\nrequire.resolve('l/package.json');",
      ['j', 'k', 'l/package.json'],
    ],
    ["export const m = 'from';\nconst n = 'n';", []],
    ["// import o from 'o';\n/* import p from 'p'; */\n/**\n * import q from 'q';\n */", []],
    ["export function r(): string {\n  return s;\n}\nimport t from 't';", ['t']],
  ])('%j', (text, expected) => {
    expect(importsOf(text)).toEqual(expected);
  });

  it('a dynamic import whose module cannot be read is reported', () => {
    expect(unreadableImportsOf('await import(name); await import(`./${name}`); await import("a")')).toHaveLength(2);
  });
});
