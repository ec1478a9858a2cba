import { type CommandOutcome, runCommand, type RunOptions } from './run-command.ts';

/** The start of a command line that isolates the command behind it. */
export type Isolation = readonly string[];

interface IsolationOptions {
  /** A folder that the process can only read; null: none. */
  readonly readOnly: string | null;
  /** For a process that reads from object storage by itself: it keeps the network of its parent. */
  readonly keepsNetwork?: boolean;
}

/**
 * The isolation of a process that decodes untrusted bytes: its own namespaces for network, processes and IPC, and no
 * privileges. A decoder that was taken over reaches no address and no process of its parent, whose environment has
 * every secret. It shares its parent's user and file system, except that `readOnly` cannot be written: other steps run
 * code from there.
 *
 * util-linux makes the namespaces: as root always, as another user where the kernel allows user namespaces.
 */
function isolationOf(isRoot: boolean, { readOnly, keepsNetwork = false }: IsolationOptions): Isolation {
  const network = keepsNetwork ? [] : ['--net'];
  const namespaces = [...network, '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc', '--'];
  const user = isRoot ? [] : ['--user', '--map-current-user', '--keep-caps'];
  const capabilities = ['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all', '--'];
  const mounting = readOnly === null ? [] : ['sh', '-c', mountScript, readOnly];
  return ['unshare', ...user, ...namespaces, ...mounting, 'setpriv', '--no-new-privs', ...capabilities];
}

/** `$0` is the folder, `$@` the command. The folder may have been removed, and the command must not make it again. */
const mountScript =
  'mkdir -p "$0" && mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && unset PWD && exec "$@"';

const probeTimeoutMs = 10_000;

/** Tries the isolation on this machine; the reason when it does not work here. */
export async function findIsolation({
  env,
  ...options
}: IsolationOptions & { readonly env: Readonly<Record<string, string>> }): Promise<
  { readonly isolation: Isolation } | { readonly reason: string }
> {
  const isolation = isolationOf(process.getuid?.() === 0, options);
  try {
    const { exitCode, stderrTail } = await runIsolated({ program: 'true', args: [] }, isolation, {
      timeoutMs: probeTimeoutMs,
      env,
    });
    return exitCode === 0 ? { isolation } : { reason: stderrTail.trim() };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Bounds of a process's memory, in bytes, and no core files: goes between an isolation and its command. */
export function memoryLimit(bytes: number): Isolation {
  return ['prlimit', `--data=${bytes}`, '--core=0', '--'];
}

/** The message of util-linux before 2.40 for a killed command, since it cannot end itself by SIGKILL; it exits 1. */
const saidOfKilled = 'unshare: sigprocmask unblock failed';

/**
 * Runs a command behind `isolation`, which may be empty. One that the kernel killed for its memory has no exit code.
 *
 * @throws see `runCommand`
 */
export async function runIsolated(
  command: { readonly program: string; readonly args: readonly string[] },
  isolation: Isolation,
  options: RunOptions,
): Promise<CommandOutcome> {
  const outcome = await runCommand(isolated(command, isolation), options);
  const isKilled = outcome.exitCode === 1 && outcome.stderrTail.includes(saidOfKilled);
  return isKilled ? { ...outcome, exitCode: null, signal: 'SIGKILL' } : outcome;
}

/** The command behind `isolation`, which may be empty. `runIsolated` knows how it has ended. */
export function isolated(
  { program, args }: { readonly program: string; readonly args: readonly string[] },
  isolation: Isolation,
): { program: string; args: string[] } {
  const [first = program, ...rest] = [...isolation, program, ...args];
  return { program: first, args: rest };
}
