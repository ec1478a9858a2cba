import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../testing/free-port.ts';

export interface PeerProcess {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a script of this folder as a server of its own process, on a port that is its first argument. */
export async function startPeer(script: string, ...args: readonly string[]): Promise<PeerProcess> {
  const port = await freePort();
  const server = spawn(process.execPath, [join(import.meta.dirname, script), String(port), ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(server, 'close');
  const url = `http://127.0.0.1:${port}`;
  while ((await fetch(`${url}/healthz`).catch(() => null)) === null) {
    if (server.exitCode !== null) throw new Error(`${script} ended with ${server.exitCode}`);
    await sleep(50);
  }
  return {
    url,
    pid: server.pid ?? 0,
    async stop() {
      server.kill('SIGKILL');
      await ended;
    },
  };
}
