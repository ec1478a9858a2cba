import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { describe, expect, it } from 'vitest';
import { importsOf, readSources, type SourceFile, unreadableImportsOf, withoutComments } from './imports.ts';
import { programs, rooms } from './rooms.ts';

// The arrows between the rooms of the tree: main → api, controller → platform → domain, and none other.

const root = join(import.meta.dirname, '../..');
const sources = readSources(root);
const isTest = ({ path }: SourceFile) => path.endsWith('.test.ts');

/** The room of a path: its top folder, its folder of the platform, or the file itself at the top. */
function roomOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  return top === 'platform' ? `${top}/${second}` : top;
}

/** The top folder, which the rooms of the platform share. */
function houseOf(path: string): string | undefined {
  return path.split('/')[0];
}

/** The path that an import of our own names; null for a package. */
function ownPath(importer: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return normalize(join(dirname(importer), specifier));
  return specifier.startsWith('#') ? specifier.slice(1) : null;
}

function mayImport(from: string, to: string): boolean {
  const allowed = rooms[from]?.imports ?? [];
  return from === to || allowed.some((room) => (room.endsWith('/') ? to.startsWith(room) : to === room));
}

/** What `check` finds wrong in the files, as `path: what`. */
function faults(files: readonly SourceFile[], check: (file: SourceFile) => readonly string[]): string[] {
  return files.flatMap((file) => check(file).map((fault) => `${file.path}: ${fault}`));
}

describe('the rooms', () => {
  it('are the folders that hold source files, all of them and no other', () => {
    expect(new Set(sources.map(({ path }) => roomOf(path)))).toEqual(new Set(Object.keys(rooms)));
  });

  it('name only rooms, and the arrows lead round in no circle', () => {
    const names = Object.keys(rooms);
    const next = (name: string) => names.filter((other) => other !== name && mayImport(name, other));
    const reach = (name: string, seen = new Set<string>()): Set<string> => {
      for (const other of next(name)) if (!seen.has(other)) reach(other, seen.add(other));
      return seen;
    };
    expect(names.filter((name) => reach(name).has(name))).toEqual([]);
    const named = Object.values(rooms).flatMap(({ imports }) => imports);
    expect(
      named.filter((name) => !names.some((room) => room === name || (name.endsWith('/') && room.startsWith(name)))),
    ).toEqual([]);
  });

  it('are looked at: there are imports in each that can have some', () => {
    const withImports = sources.filter(({ text }) => importsOf(text).length > 0).map(({ path }) => roomOf(path));
    expect(new Set(withImports)).toEqual(new Set(Object.keys(rooms)));
  });
});

describe('an import', () => {
  it('leads only where an arrow leads', () => {
    const wrong = faults(sources, ({ path, text }) =>
      importsOf(text).filter((specifier) => {
        const target = ownPath(path, specifier);
        return target !== null && !mayImport(roomOf(path), roomOf(target));
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('names a file that is there, with its extension', () => {
    const wrong = faults(sources, ({ path, text }) =>
      importsOf(text).filter((specifier) => {
        const target = ownPath(path, specifier);
        return target !== null && (!existsSync(join(root, target)) || !/\.\w+$/.test(target));
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('is relative inside of a room and begins with # across rooms', () => {
    const wrong = faults(sources, ({ path, text }) =>
      importsOf(text).filter((specifier) => {
        const target = ownPath(path, specifier);
        // The folders of the platform are neighbours in one house: both ways are fine there. Only the domain and the
        // platform have a # of their own, and programs and tests lie outside of all rooms.
        if (
          target === null ||
          houseOf(path) === 'platform' ||
          ['main.ts', 'demo', 'test', 'bench'].includes(roomOf(path))
        )
          return false;
        return specifier.startsWith('#') === (houseOf(path) === houseOf(target));
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('can be read off the text', () => {
    const wrong = faults(
      sources.filter((file) => !isTest(file) && !file.path.startsWith('test/')),
      ({ text }) => unreadableImportsOf(text),
    );
    expect(wrong).toEqual([]);
  });

  it('of a package is one that the room may have', () => {
    const wrong = faults(
      sources.filter((file) => !isTest(file)),
      ({ path, text }) => {
        const packages = rooms[roomOf(path)]?.packages;
        return importsOf(text).filter(
          (specifier) => ownPath(path, specifier) === null && packages !== undefined && !packages.includes(specifier),
        );
      },
    );
    expect(wrong).toEqual([]);
  });
});

describe('process.env and process.argv', () => {
  it('are read by programs alone', () => {
    const reading =
      /\bprocess\s*(?:\?\.|\.)\s*(?:env|argv)\b|\bprocess\[|\b(?:env|argv)\b[^;]*\}\s*from\s+'(?:node:)?process'/g;
    const wrong = faults(
      sources.filter((file) => !isTest(file)),
      ({ path, text }) => {
        if (rooms[roomOf(path)]?.isProgram === true || programs.includes(path)) return [];
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

  it('tells a dynamic import that cannot be read', () => {
    expect(unreadableImportsOf('await import(name); await import(`./${name}`); await import("a")')).toHaveLength(2);
  });
});
