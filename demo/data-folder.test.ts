import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dataFolderAt, openDataFolder, readOrMakeSecrets } from './data-folder.ts';

let checkout: string;

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'reelwright-folder-'));
});
afterEach(() => rm(checkout, { recursive: true, force: true }));

describe('openDataFolder', () => {
  it('the data folder is in the checkout, and each concurrent run gets another one', async () => {
    const [first, second] = [await openDataFolder(checkout), await openDataFolder(checkout)];
    expect(first.data.path).toBe(join(checkout, '.reelwright', 'demo'));
    expect(second.data.path).toBe(join(checkout, '.reelwright', 'demo-2'));
    await first.lock.release();
    expect((await openDataFolder(checkout)).data.path).toBe(first.data.path);
  });

  it('the data folder of a killed run is reused once its service has ended as well', async () => {
    const folder = join(checkout, '.reelwright', 'demo');
    await mkdir(folder, { recursive: true });
    // Above the largest process id of Linux.
    await writeFile(join(folder, 'in-use-by'), '4194305\n');
    const { data, lock } = await openDataFolder(checkout);
    expect(data.path).toBe(folder);
    await lock.addProcess(4194305);
    await writeFile(join(folder, 'in-use-by'), `4194305\n${process.pid}\n`);
    expect((await openDataFolder(checkout)).data.path).toBe(`${folder}-2`);
  });
});

describe('readOrMakeSecrets', () => {
  it('the secrets are generated once, differ from each other, and are readable by their owner only', async () => {
    const data = await dataFolderAt(join(checkout, 'data'));
    const [first, second] = await Promise.all([readOrMakeSecrets(data), readOrMakeSecrets(data)]);
    expect(first).toEqual(second);
    expect(await readOrMakeSecrets(data)).toEqual(first);
    expect(new Set(Object.values(first.values)).size).toBe(4);
    for (const [variable, file] of Object.entries(first.environment)) {
      expect((await stat(file)).mode & 0o077, variable).toBe(0);
      expect(await readFile(file, 'utf8')).toBe(first.values[variable.replace(/_FILE$/, '') as 'API_KEY']);
    }
    expect((await readdir(data.secrets)).length).toBe(4);
  });
});
