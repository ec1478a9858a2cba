import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { dirname, join } from 'node:path';
import { checkout } from '../../testing/checkout.ts';
import { findProgram } from '../../testing/servers.ts';

// Python with the client of this checkout and the packages that it needs, which came with the generator of its models.

const generator = findProgram('datamodel-codegen');
const packages = generator === null ? '' : join(dirname(generator), '../datamodel-codegen');

interface Options {
  readonly input?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** The output of a program in Python. @throws with its errors when it fails */
export async function runPython(
  args: readonly string[],
  { input = '', cwd, env, timeoutMs = 100_000 }: Options = {},
): Promise<string> {
  const path = [join(checkout, 'clients/python/src'), packages].filter(Boolean).join(':');
  const child = spawn('python3', args, {
    cwd,
    env: { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1', ...env },
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  child.stdin.on('error', () => undefined).end(input);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (child.exitCode === 0) return output;
  throw new Error(`python3 ${args.join(' ')} ended with ${child.exitCode ?? child.signalCode}: ${errors}${output}`);
}

/** One line about what has to be installed, or nothing. */
export async function missingForPython(): Promise<string> {
  const check = 'import sys; assert sys.version_info >= (3, 11), sys.version; import httpx, mypy';
  const remedy = 'install Python 3.11 or newer with pip, then run scripts/needs test';
  return await runPython(['-c', check]).then(
    () => '',
    (error: Error) => `the Python client cannot be tested (${remedy}): ${error.message.trim().split('\n').at(-1)}`,
  );
}
