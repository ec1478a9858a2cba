import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../testing/free-port.ts';

/** A service of the cluster on a fixed port of this machine, whichever pod answers. */
export interface PortForward {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** Starts forwarding; the service must exist. */
  start(): void;
  stop(): Promise<void>;
}

/** Runs `kubectl port-forward`, and restarts it whenever its pod ends. */
export async function preparePortForward(namespace: string, service: string): Promise<PortForward> {
  const port = await freePort();
  let child: ChildProcess | null = null;
  const stopping = new AbortController();
  let loop: Promise<void> = Promise.resolve();
  const url = `http://127.0.0.1:${port}`;
  const forward = async () => {
    while (!stopping.signal.aborted) {
      const args = ['-n', namespace, 'port-forward', `service/${service}`, `${port}:http`];
      child = spawn('kubectl', args, { stdio: 'ignore' });
      const closed = once(child, 'close');
      // kubectl keeps running after its pod was deleted, so the forwarded port is probed.
      for (let misses = 0; misses < 3 && child.exitCode === null && child.signalCode === null;) {
        await Promise.race([closed, sleep(1_000)]);
        misses = (await isAnswered(url)) ? 0 : misses + 1;
      }
      child.kill();
      await closed;
    }
  };
  return {
    url,
    start() {
      loop = forward();
    },
    async stop() {
      stopping.abort();
      child?.kill();
      await loop;
    },
  };
}

async function isAnswered(url: string): Promise<boolean> {
  try {
    await (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) })).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
