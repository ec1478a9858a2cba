import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { referencePages } from './generate-reference.ts';

test('the tables of docs/reference say what the schemas and declarations say (else: make generate)', async () => {
  for (const [file, text] of await referencePages()) expect(await readFile(file, 'utf8'), file.pathname).toBe(text);
});
