import { isAlive } from '#platform/commands/is-alive.ts';
import { until } from '../controller-rig.ts';
import { startProgram } from '../programs.ts';

/** Nothing is sent to a process that has ended, nor to 0, which stands for none. */
export function send(pid: number, signal: NodeJS.Signals): void {
  if (pid > 0 && isAlive(pid)) process.kill(pid, signal);
}

export type Supervised = Awaited<ReturnType<typeof supervised>>;

/** A process that is started again whenever it ends, until it is stopped. */
export async function supervised(mode: 'server' | 'worker', env: Record<string, string>) {
  let output = '';
  const stopping = new AbortController();
  const start = () => startProgram({ args: [`--mode=${mode}`], env, waits: 'not' });
  let current = await start();
  const supervise = async () => {
    while (!stopping.signal.aborted) {
      await current.ended;
      output += current.output();
      if (!stopping.signal.aborted) current = await start();
    }
  };
  const supervising = supervise();
  const end = async () => {
    const { pid, ended, signal } = current;
    if (isAlive(pid)) signal('SIGTERM');
    // One that is frozen does not see it.
    if (isAlive(pid)) signal('SIGCONT');
    await ended;
  };
  return {
    mode,
    url: () => current.url,
    current: () => current,
    output: () => output + current.output(),
    /** Waits until it answers. */
    isThere: () =>
      until(
        () => fetch(`${current.url}/healthz`).catch(() => null),
        (answer) => answer?.ok === true,
        60_000,
      ),
    /** Ends it; it is started again. */
    restart: end,
    async stop(): Promise<void> {
      stopping.abort();
      await end();
      await supervising;
      // One that was just started.
      await end();
    },
  };
}
