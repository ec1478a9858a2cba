import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { crdFiles, crdFolders } from './generate-crds.ts';

test.each(crdFolders)(
  '%s holds what domain/kubernetes says, and nothing else: `node scripts/generate-crds.ts` writes it',
  async (folder) => {
    const files = await readdir(folder);
    const onDisk = await Promise.all(
      files.map(async (name) => [name, await readFile(new URL(name, folder), 'utf8')] as const),
    );
    expect(Object.fromEntries(onDisk)).toEqual(Object.fromEntries(await crdFiles()));
  },
);
