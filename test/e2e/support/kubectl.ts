import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** A dump of every object is several megabytes. */
const maxBuffer = 256 * 1024 * 1024;

/**
 * Runs kubectl on the cluster of `KUBECONFIG`; its standard output. @throws Error with what it wrote to standard error
 */
export function kubectl(...args: string[]): Promise<string> {
  return program('kubectl', args);
}

/** Runs helm on the cluster of `KUBECONFIG`; its standard output. */
export function helm(...args: string[]): Promise<string> {
  return program('helm', args);
}

/** kubectl with a standard input, for `-f -`. */
function kubectlWith(input: string, ...args: string[]): Promise<string> {
  return program('kubectl', args, input);
}

/** `kubectl apply -f -`. */
export function apply(manifest: object): Promise<string> {
  return kubectlWith(JSON.stringify(manifest), 'apply', '-f', '-');
}

/** `kubectl … -o json`, parsed. */
export async function kubectlJson<T>(...args: string[]): Promise<T> {
  return JSON.parse(await kubectl(...args, '-o', 'json')) as T;
}

async function program(name: string, args: readonly string[], input?: string): Promise<string> {
  const running = run(name, args, { maxBuffer, timeout: 170_000 });
  running.child.stdin?.end(input ?? '');
  try {
    return (await running).stdout;
  } catch (error) {
    const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string };
    throw new Error(`${name} ${args.join(' ')}: ${stderr.trim()} ${stdout.slice(-2000).trim()}`, { cause: error });
  }
}
