import { runCommand } from '#platform/commands/run-command.ts';

/** The start of a command line that isolates the command behind it. */
export type Isolation = readonly string[];

/**
 * The isolation of the step that decodes untrusted bytes: namespaces of its own for network, processes and IPC, and no
 * privileges. A decoder that was taken over reaches no address and sees no process of the worker, whose environment
 * holds every secret. The step still shares the worker's user and file system.
 *
 * util-linux makes the namespaces: as root always, as another user where the kernel allows user namespaces.
 */
function isolationOf(isRoot: boolean): Isolation {
  const namespaces = ['--net', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];
  const capabilities = ['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all'];
  return isRoot
    ? ['unshare', ...namespaces, '--', 'setpriv', '--no-new-privs', ...capabilities, '--']
    : ['unshare', '--user', '--map-current-user', ...namespaces, '--', 'setpriv', '--no-new-privs', '--'];
}

const probeTimeoutMs = 10_000;

/** Tries the isolation on this machine; the reason when it does not work here. */
export async function findIsolation(
  env: Readonly<Record<string, string>>,
): Promise<{ readonly isolation: Isolation } | { readonly reason: string }> {
  const isolation = isolationOf(process.getuid?.() === 0);
  try {
    const { exitCode, stderrTail } = await runCommand(isolated({ program: 'true', args: [] }, isolation), {
      timeoutMs: probeTimeoutMs,
      env,
    });
    return exitCode === 0 ? { isolation } : { reason: stderrTail.trim() };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The command behind `isolation`. */
export function isolated(
  { program, args }: { readonly program: string; readonly args: readonly string[] },
  [first = program, ...rest]: Isolation,
): { program: string; args: string[] } {
  return { program: first, args: [...rest, program, ...args] };
}
