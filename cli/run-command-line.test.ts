import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from './run-command-line.ts';

interface Call {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Readable;
  readonly signal?: AbortSignal;
}

async function run(args: readonly string[], call: Call = {}) {
  const { env = {}, stdin = Readable.from([]), signal = new AbortController().signal } = call;
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runCommandLine(args, { env, stdin, stdout, stderr }, signal);
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}

it('a result is on standard output, and the exit code is 0', async () => {
  expect(await run(['completion', 'fish'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('submit') as string,
    stderr: '',
  });
  expect(await run(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) as string });
});

it('an error is on standard error, as text or as JSON, and has its exit code', async () => {
  const line = 'no command explode; see reelwright --help';
  expect(await run(['explode'])).toEqual({ code: 2, stdout: '', stderr: `reelwright: ${line}\n` });
  const { code, stdout, stderr } = await run(['explode', '--json']);
  expect([code, stdout, JSON.parse(stderr).error]).toMatchObject([2, '', { code: 'usage', detail: line }]);
});

describe('against a service', () => {
  const server = createServer((request, response) => {
    const isKnown = request.headers['x-api-key'] === 'known';
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isKnown ? { jobs: [], next_cursor: null } : { code: 'unauthorized', detail: 'no' }));
  });
  let url = '';
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('a command that was interrupted prints no error, and has an exit code of its own', async () => {
    const signal = AbortSignal.abort(new Error('interrupted'));
    const interrupted = await run(['login', '--url', url], { stdin: Readable.from(['known']), signal });
    expect(interrupted).toEqual({ code: 130, stdout: '', stderr: '' });
  });

  it('on a terminal, login asks for a key on standard error and does not show it', async () => {
    const stdin = Object.assign(Readable.from(['another\n']), { isTTY: true });
    const { code, stdout, stderr } = await run(['login', '--url', url], { stdin });
    expect([code, stdout]).toEqual([4, '']);
    expect(stderr).toMatch(/^API key: \nreelwright: the API key is refused: /);
  });
});
