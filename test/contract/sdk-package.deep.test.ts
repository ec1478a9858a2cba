import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { checkout } from '../../testing/checkout.ts';
import { installClient } from '../../testing/client-package.ts';
import { secrets } from '../../testing/programs.ts';
import type { StageService } from '../../testing/stage/service.ts';
import { onStage } from '../../testing/stage/stage.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../testing/webhook-receiver.ts';

// The TypeScript client as the package that npm would have, against the program of the stage.

const run = promisify(execFile);

let service: StageService;
let receiver: WebhookReceiver;

beforeAll(async () => {
  if (!inject('postgres')) return;
  receiver = await startWebhookReceiver();
  service = await onStage('service');
});
afterAll(() => receiver?.close());

/** The webhook of the program in README.md. */
const readmeWebhook = () => receiver.received.find(({ body }) => body.includes('"movie-1"'));

describe.skipIf(!inject('postgres'))('the package of the TypeScript client', () => {
  it('the program in README.md, at most 12 lines, uploads a video, plays it and verifies its webhook', async () => {
    const page = await readFile(join(checkout, 'README.md'), 'utf8');
    const code = /^```ts sdk\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '';
    expect(code.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(12);
    const output = await runWithPackage({ 'readme.ts': code }, async (folder) => {
      await copyFile(join(service.source, 'clip.mp4'), join(folder, 'movie.mp4'));
    });
    expect(output).toMatch(/^\d+ %$/m);
    const [, hash, token] = /\/player\/#hash=(\S+)&token=(\S+)$/m.exec(output) ?? [];
    const key = await fetch(`${service.url}/api/key/${hash}`, { headers: { authorization: `Bearer ${token}` } });
    expect([hash, (await key.arrayBuffer()).byteLength]).toEqual(['movie-1', 16]);
    await expect.poll(readmeWebhook).toBeDefined();
    const sent = JSON.stringify(readmeWebhook());
    const check = `
      import { onWebhook } from './readme.ts';
      const { headers, body } = ${sent};
      console.log((await onWebhook(new Request('http://hook', { method: 'POST', headers, body }))).status);`;
    const withoutFlow = code.replaceAll(/^const \{ source \}[\s\S]*?(?=^export)/gm, '');
    expect(await runWithPackage({ 'flow.ts': check, 'readme.ts': withoutFlow })).toBe('completed\n');
  });
});

/** Compiles and runs the first of the files in a folder where npm has installed the client; its output. */
async function runWithPackage(
  files: Readonly<Record<string, string>>,
  prepare: (folder: string) => Promise<void> = async () => undefined,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-package-'));
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc');
  try {
    await installClient(folder);
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    await prepare(folder);
    const [first = ''] = Object.keys(files);
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const compile = run(tsc, [...options, '--allowImportingTsExtensions', first], { cwd: folder });
    expect((await compile.catch((error: { stdout: string }) => error)).stdout).toBe('');
    const { API_KEY, KEY_TOKEN_SECRET, WEBHOOK_SECRET } = secrets;
    const env = { ...process.env, API: service.url, API_KEY, KEY_TOKEN_SECRET, WEBHOOK_SECRET, HOOK: receiver.url };
    return (await run('node', [first], { cwd: folder, env })).stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
