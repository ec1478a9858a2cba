import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlayersSeen } from './players.ts';

// Players in a pod of the cluster: each plays a stream from its master over and over, by one connection that it keeps.
// What was seen so far is printed each second, as a line of JSON. It needs nothing but Node, and this file.

const { BASE_URL = '', PATHS = '', PLAYERS = '' } = process.env;
const [master = '', ...others] = PATHS.split(' ');
const paceMs = 2_000;
const timeoutMs = 10_000;
const failuresMax = 20;

const seen: { -readonly [Name in keyof PlayersSeen]: PlayersSeen[Name] } = { requests: 0, failures: [], masters: {} };

async function ask(path: string, agent: Agent): Promise<void> {
  const startedAtMs = Date.now();
  const asked = get(`${BASE_URL}${path}`, { agent, signal: AbortSignal.timeout(timeoutMs) });
  try {
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
    response.resume();
    await once(response, 'end');
    if (path === master) noteMaster(response.headers['cache-control'] ?? '', Date.now());
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException;
    const what = `${path}: ${code} ${message}, on a ${asked.reusedSocket ? 'kept' : 'new'} connection`;
    if (seen.failures.length < failuresMax)
      seen.failures = [...seen.failures, `${what} after ${Date.now() - startedAtMs} ms`];
  }
  seen.requests += 1;
}

function noteMaster(cacheControl: string, nowMs: number): void {
  const { count = 0, firstAtMs = nowMs } = seen.masters[cacheControl] ?? {};
  seen.masters = { ...seen.masters, [cacheControl]: { count: count + 1, firstAtMs, lastAtMs: nowMs } };
}

async function play(): Promise<never> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await sleep(Math.random() * paceMs);
  for (;;) {
    for (const path of [master, ...others]) {
      await ask(path, agent);
      await sleep(paceMs);
    }
  }
}

for (let n = 0; n < Number(PLAYERS); n++) void play();
setInterval(() => process.stdout.write(`${JSON.stringify(seen)}\n`), 1_000);
