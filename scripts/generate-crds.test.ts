import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { crdFiles } from './generate-crds.ts';

const folder = new URL('../crds/', import.meta.url);

test('crds/ holds what domain/kubernetes says, and nothing else: `node scripts/generate-crds.ts` writes it', async () => {
  const files = await readdir(folder);
  const onDisk = await Promise.all(
    files.map(async (name) => [name, await readFile(new URL(name, folder), 'utf8')] as const),
  );
  expect(Object.fromEntries(onDisk)).toEqual(Object.fromEntries(await crdFiles()));
});
