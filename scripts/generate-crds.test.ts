import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { crdFiles, crdFolder } from './generate-crds.ts';

test('the custom resource definitions of the chart equal what scripts/generate-crds.ts generates', async () => {
  const names = await readdir(crdFolder);
  const files = names.map(async (name) => [name, await readFile(new URL(name, crdFolder), 'utf8')] as const);
  expect(Object.fromEntries(await Promise.all(files))).toEqual(Object.fromEntries(await crdFiles()));
});
