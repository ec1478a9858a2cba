import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { jobErrors, requestErrors } from '#domain/errors.ts';
import { clientTypes, openApiText, typesFile } from './generate-clients.ts';
import {
  MissingProgram,
  modelsHead,
  pythonFolder,
  pythonModels,
  pythonSyncTexts,
  pythonTexts,
} from './python-client.ts';

const client = (path: string) => readFile(new URL(`../clients/${path}`, import.meta.url), 'utf8');

test('the types of the TypeScript client are made from the routes of this checkout: make generate', async () => {
  expect(await readFile(typesFile, 'utf8')).toBe(await clientTypes(await openApiText()));
}, 120_000);

test('the TypeScript client says what to do about every error code', async () => {
  const text = await client('typescript/src/errors.ts');
  const codes = Object.keys({ ...requestErrors, ...jobErrors });
  expect(codes.filter((code) => !text.includes(`\n  ${code}: `))).toEqual([]);
});

test('the generated modules of the Python client are of this checkout: make generate', async () => {
  const document = await openApiText();
  const expected = { ...pythonTexts(document), ...(await pythonSyncTexts()) };
  for (const [name, text] of Object.entries(expected))
    expect(await readFile(new URL(name, pythonFolder), 'utf8'), name).toBe(text);
  // The generator is not one of the npm packages: test/contract/clients.deep.test.ts compares the rest.
  const models = await readFile(new URL('models.py', pythonFolder), 'utf8');
  expect(models.slice(0, modelsHead(document).length)).toBe(modelsHead(document));
});

test('without its generator, models.py is not written, and one line says how to get it', async () => {
  const failure = await pythonModels(await openApiText(), '/nonexistent').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(MissingProgram);
  expect((failure as Error).message).toMatch(/^datamodel-codegen is missing.* Run: scripts\/needs generate.*$/);
});

test('no line of the Python client that is written for both kinds of code still waits in the other', async () => {
  const texts = Object.entries(await pythonSyncTexts());
  expect(texts.map(([name]) => name)).toContain('_sync_client.py');
  for (const [name, text] of texts) expect(text, name).not.toMatch(/^(?!.*""").*\b(?:async|await)\b|\bAsync[A-Z]/m);
});

test('a completed job of the Python client has every field of a job', async () => {
  const fields = fieldsOf(await client('python/src/reelwright/_types.py'), 'CompletedJob');
  expect(fields).toContain('results');
  expect(fields).toEqual(fieldsOf(await client('python/src/reelwright/models.py'), 'VideoFullJob'));
});

test('the clients have the version of the service', async () => {
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  expect(JSON.parse(await client('typescript/package.json'))).toMatchObject({ version });
  expect(await client('python/pyproject.toml')).toContain(`\nversion = "${version}"\n`);
  expect(await client('python/src/reelwright/_version.py')).toBe(`__version__ = "${version}"\n`);
});

/** The fields of a class in Python, sorted. */
function fieldsOf(text: string, name: string): string[] {
  const body = new RegExp(String.raw`^class ${name}\(.*:\n((?:    .*\n|\n)+)`, 'm').exec(text)?.[1] ?? '';
  const fields = [...body.matchAll(/^ {4}(\w+):/gm)].map(([, field = '']) => field);
  return fields.toSorted((a, b) => a.localeCompare(b));
}
