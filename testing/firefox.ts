import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { findProgram } from './servers.ts';

// A headless Firefox with a profile of its own, driven by WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/), which
// it speaks by itself.

export const firefoxPath = findProgram('firefox-esr') ?? findProgram('firefox');

/** Videos begin without a click, and the browser sends nothing of its own. */
const preferences = {
  'media.autoplay.default': 0,
  'media.autoplay.blocking_policy': 0,
  'remote.active-protocols': 1,
  'datareporting.policy.dataSubmissionEnabled': false,
  'app.normandy.enabled': false,
  'network.captive-portal-service.enabled': false,
};

interface Answer {
  readonly id?: number;
  readonly type: string;
  readonly result?: unknown;
  readonly message?: string;
}

interface Evaluated {
  readonly result?: { readonly value?: string };
  readonly exceptionDetails?: { readonly text: string };
}

export interface FirefoxPage {
  readonly goto: (url: string) => Promise<void>;
  /** The value of an expression, or of its promise, which JSON can show. */
  readonly evaluate: <Value>(expression: string) => Promise<Value>;
  readonly close: () => Promise<void>;
}

/** Opens a page of a new Firefox. */
export async function openFirefox(): Promise<FirefoxPage> {
  const profile = await mkdtemp(join(tmpdir(), 'reelwright-firefox-'));
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
  await writeFile(join(profile, 'user.js'), lines.join('\n'));
  const args = ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'];
  const program = spawn(firefoxPath ?? '', args, {
    env: { ...process.env, HOME: profile },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const socket = new WebSocket(`${await addressIn(program.stderr)}/session`);
  await once(socket, 'open');
  const send = commandsOver(socket);
  await send('session.new', { capabilities: {} });
  const { contexts } = (await send('browsingContext.getTree', {})) as { contexts: { context: string }[] };
  const context = contexts[0]?.context ?? '';
  return {
    goto: async (url) => void (await send('browsingContext.navigate', { context, url, wait: 'complete' })),
    evaluate: async <Value>(expression: string) => {
      const code = `(async () => JSON.stringify((await (${expression})) ?? null))()`;
      const target = { expression: code, target: { context }, awaitPromise: true };
      const { result, exceptionDetails } = (await send('script.evaluate', target)) as Evaluated;
      if (result?.value === undefined) throw new Error(`${expression}: ${exceptionDetails?.text ?? 'no value'}`);
      return JSON.parse(result.value) as Value;
    },
    close: async () => {
      socket.close();
      program.kill();
      if (program.exitCode === null) await once(program, 'close');
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** The address that the browser names once it listens. */
async function addressIn(output: Readable): Promise<string> {
  let text = '';
  for await (const part of output.iterator({ destroyOnReturn: false })) {
    text += String(part);
    const [, address] = /WebDriver BiDi listening on (ws:\S+)/.exec(text) ?? [];
    if (address === undefined) continue;
    // What it says later is of no interest, but it must be read.
    output.resume();
    return address;
  }
  throw new Error(`Firefox does not start: ${text}`);
}

/** Sends commands, and answers each with its result. */
function commandsOver(socket: WebSocket): (method: string, params: object) => Promise<unknown> {
  let sent = 0;
  const waiting = new Map<number, (answer: Answer) => void>();
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
  });
  return async (method, params) => {
    const id = (sent += 1);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(id, resolve);
    socket.send(JSON.stringify({ id, method, params }));
    const { type, result, message } = await promise;
    if (type !== 'success') throw new Error(`${method}: ${message ?? type}`);
    return result;
  };
}
