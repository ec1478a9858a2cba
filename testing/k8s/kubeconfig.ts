import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { server } from './cluster.ts';

/** A kubeconfig of the administrator whose server is at `url`, for a program of its own. */
export async function proxiedKubeconfig(url: string, cleanup: (clean: () => Promise<void>) => void): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-kubeconfig-'));
  cleanup(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'kubeconfig');
  await writeFile(path, (await readFile(server.kubeconfigPath, 'utf8')).replaceAll(server.url, url));
  return path;
}
