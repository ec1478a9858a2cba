import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readPlainFile, refuseLinks } from './plain-files.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-plain-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'video'));
  await writeFile(join(folder, 'video/file'), 'bytes');
});

describe('the output of the process step', () => {
  it('plain files and folders are read', async () => {
    await refuseLinks(folder);
    expect(await readPlainFile(join(folder, 'video/file'))).toBe('bytes');
  });

  it('a link is refused, below the folder and in place of the folder', async () => {
    await symlink(join(folder, 'video'), join(folder, 'link'));
    await expect(refuseLinks(folder)).rejects.toThrow('neither a file nor a folder');
    await expect(refuseLinks(join(folder, 'link'))).rejects.toThrow();
  });

  it('a link is not followed when it is read', async () => {
    await symlink(join(folder, 'video/file'), join(folder, 'link'));
    await expect(readPlainFile(join(folder, 'link'))).rejects.toThrow('ELOOP');
  });

  it('a pipe is refused without waiting for a writer', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    await expect(refuseLinks(folder)).rejects.toThrow('neither a file nor a folder');
    await expect(readPlainFile(join(folder, 'pipe'))).rejects.toThrow('neither a file nor a folder');
  });
});
