import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSources, type SourceFile, withoutComments } from '../../testing/imports.ts';

// What a file of the Kubernetes controller is given says what it needs: a few fields, or a `Pick` of a wide type. Rows
// of the database and objects of the API server are values, and do not count; a type of the controller's own does.

const fieldsMax = 8;
const filesMax = 3;

const declaration = /^(?:export )?(?:interface|type) (\w+)[^={;\n]*(?:= )?(?:[\w&<>' |,]* )?\{\n([\s\S]*?)^\}/gm;
const field = /^ {2}(?:readonly )?[\w'"$-]+\??[:(<]/gm;

/** The types of a file, with how many fields each declares. */
function typesOf({ text }: SourceFile): { name: string; fields: number }[] {
  return [...withoutComments(text).matchAll(declaration)].map(([, name = '', body = '']) => ({
    name,
    fields: body.match(field)?.length ?? 0,
  }));
}

/** Whether a file imports a type and uses more of it than a `Pick`. */
function isGivenTo({ text }: SourceFile, name: string): boolean {
  const code = withoutComments(text).replaceAll(/^import\b[\s\S]*?;\n/gm, '');
  return new RegExp(String.raw`(?<!Pick<)\b${name}\b`).test(code);
}

it('no type with more than 8 fields is given to more than three files of controller/kubernetes', () => {
  const sources = readSources(join(import.meta.dirname, '../..')).filter(({ path }) => !path.endsWith('.test.ts'));
  const users = sources.filter(({ path }) => path.startsWith('controller/kubernetes/'));
  const types = sources
    .filter(({ path }) => path.startsWith('controller/'))
    .flatMap((file) => typesOf(file).map((type) => ({ ...type, file })));
  expect(types.length).toBeGreaterThan(50);
  const wide = types.filter(({ fields }) => fields > fieldsMax);
  const given = wide.map(
    ({ name, file }) => [name, users.filter((user) => user !== file && isGivenTo(user, name))] as const,
  );
  const tooWide = given.filter(([, files]) => files.length > filesMax);
  expect(tooWide.map(([name]) => name)).toEqual([]);
});

it('the fields of a type are counted, its comments and the fields inside fields aside', () => {
  const text =
    'export interface A extends B {\n  /** x: */\n  readonly a: {\n    readonly b: 1;\n  };\n  c?(d: 1): void;\n}\n';
  expect(typesOf({ path: 'a.ts', text })).toEqual([{ name: 'A', fields: 2 }]);
});
