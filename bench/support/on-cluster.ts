import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findProgram } from '../../testing/servers.ts';

// Benchmarks on a cluster with real nodes. scripts/e2e finds the cluster and loads the images.

const checkout = join(import.meta.dirname, '../..');
const isSet = (name: string) => (process.env[name] ?? '') !== '';

/** Which programs or variables are missing for a benchmark on a cluster; null: none. */
export function missingForCluster(): string | null {
  const absent = ['kubectl', 'helm', 'ffmpeg', 'redis-server'].filter((name) => findProgram(name) === null);
  return absent.length === 0 ? missingCluster() : `there is no ${absent.join(' and no ')}`;
}

/** A cluster is used only where the environment says how it gets images, as `make e2e` does. */
function missingCluster(): string | null {
  if (!isSet('KUBECONFIG')) {
    const isOwn = ['kind', 'docker'].every((name) => findProgram(name) !== null);
    return isOwn ? null : 'KUBECONFIG is not set, and there is no kind or no docker';
  }
  const getsImages = isSet('E2E_IMAGE_TAG') || (isSet('E2E_BUILD') && isSet('E2E_LOAD'));
  return getsImages ? null : 'KUBECONFIG is set, but neither E2E_IMAGE_TAG nor E2E_BUILD and E2E_LOAD (scripts/e2e)';
}

/** Runs a program of this folder on the cluster and reads the last line of its output, which is JSON. */
export async function runOnCluster(program: string, options: readonly string[]): Promise<unknown> {
  const folders = ['kubectl', 'helm'].map((name) => dirname(findProgram(name) ?? ''));
  const child = spawn(join(checkout, 'scripts/e2e'), options, {
    cwd: checkout,
    env: { ...process.env, PATH: [process.env['PATH'], ...folders].join(delimiter), E2E_COMMAND: `node ${program}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (exitCode !== 0) throw new Error(`scripts/e2e ended with ${String(exitCode)}: ${output.slice(-2_000)}`);
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as unknown;
}
