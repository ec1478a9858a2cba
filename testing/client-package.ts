import { execFile } from 'node:child_process';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkout } from './checkout.ts';

const run = promisify(execFile);

/** Makes `folder` a package of modules in which npm has installed `@reelwright/client`. */
export async function installClient(folder: string): Promise<void> {
  const project = join(checkout, 'clients/typescript');
  const installed = join(folder, 'node_modules/@reelwright/client');
  await mkdir(installed, { recursive: true });
  await copyFile(join(project, 'package.json'), join(installed, 'package.json'));
  await run(join(checkout, 'node_modules/.bin/tsc'), ['-p', project, '--outDir', join(installed, 'dist')]);
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types'])
    await symlink(join(checkout, 'node_modules', name), join(folder, 'node_modules', name));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
}
