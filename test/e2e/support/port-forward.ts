import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A service of the cluster on a port of this machine that stays, whichever pod answers. */
export interface PortForward {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** Begins to forward; the service must be there. */
  start(): void;
  stop(): Promise<void>;
}

/** `kubectl port-forward`, begun again whenever its pod goes. */
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
      // It goes on with a pod that is gone, so it is asked whether anybody answers.
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

/** A TCP port of the loopback address that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
