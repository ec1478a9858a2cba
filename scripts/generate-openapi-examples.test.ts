import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { examplesFile, openApiExamples } from './generate-openapi-examples.ts';

test('the examples of the OpenAPI document are the answers that docs/guides/api.md shows', async () => {
  expect(await readFile(examplesFile, 'utf8')).toBe(await openApiExamples());
});
