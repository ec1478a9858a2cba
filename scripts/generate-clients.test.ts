import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { jobErrors, requestErrors } from '#domain/errors.ts';
import { clientTypes, openApiText, typesFile } from './generate-clients.ts';

test('the types of the TypeScript client are made from the routes of this checkout: make generate', async () => {
  expect(await readFile(typesFile, 'utf8')).toBe(await clientTypes(await openApiText()));
}, 30_000);

test('the TypeScript client says what to do about every error code', async () => {
  const text = await readFile(new URL('../clients/typescript/src/errors.ts', import.meta.url), 'utf8');
  const codes = Object.keys({ ...requestErrors, ...jobErrors });
  expect(codes.filter((code) => !text.includes(`\n  ${code}: `))).toEqual([]);
});
