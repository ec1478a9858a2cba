import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { corpusPages } from './generate-corpus-pages.ts';

test('the pages of tried videos and images equal what scripts/generate-corpus-pages.ts generates (else: make generate)', async () => {
  for (const [file, text] of corpusPages) expect(await readFile(file, 'utf8')).toBe(text());
});
