import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  type PacedOptions,
  type PacedOutcome,
  pacedOptionsSchema,
  unmeasuredSeconds,
} from '../support/client-options.ts';

// A client that requests a mix at a steady rate, each on a connection of its own, whether the last one was answered or
// not, and prints how long each took. Its standard input says what.

type PacedRequest = PacedOptions['requests'][string][number];

const { port, from, perSecond, seconds, requests } = pacedOptionsSchema.parse(JSON.parse(await text(process.stdin)));
const timeoutMs = 10_000;

const outcome: PacedOutcome = { ms: {}, failures: [] };

async function measure(kind: string, { path, token }: PacedRequest, isCounted: boolean): Promise<void> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(timeoutMs);
  const startedAtMs = performance.now();
  try {
    const asked = get({ host: '127.0.0.1', port, path, localAddress: from, headers, agent: false, signal });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    if (response.statusCode !== 200) throw new Error(String(response.statusCode));
    if (isCounted) (outcome.ms[kind] ??= []).push(performance.now() - startedAtMs);
  } catch (error) {
    outcome.failures.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const kinds = Object.entries(requests);
const running: Promise<void>[] = [];
await new Promise<void>((resolve) => {
  let sent = 0;
  const timer = setInterval(() => {
    const [kind, list] = kinds[sent % kinds.length] as [string, readonly PacedRequest[]];
    const request = list[Math.floor(sent / kinds.length) % list.length] as PacedRequest;
    running.push(measure(kind, request, sent >= perSecond * unmeasuredSeconds));
    sent += 1;
    if (sent < perSecond * (unmeasuredSeconds + seconds)) return;
    clearInterval(timer);
    resolve();
  }, 1000 / perSecond);
});
await Promise.all(running);
process.stdout.write(JSON.stringify(outcome));
