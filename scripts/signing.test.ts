import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { signThumbPath } from '#domain/playback/thumb.ts';
import { hasValidSignature, signPlaybackToken } from '#domain/playback/token.ts';

const secret = 'a secret of at least sixteen bytes';
const key = 'images/ab/photo/0123456789abcdef/thumb.webp';
const page = new URL('../docs/signing.md', import.meta.url);

async function run(script: string, args: string[], env: Record<string, string>): Promise<string> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return (await promisify(execFile)(process.execPath, [path, ...args], { env })).stdout.trim();
}

test('the functions make the vectors of docs/signing.md', async () => {
  const text = await readFile(page, 'utf8');
  expect(text).toContain(`\`${signPlaybackToken({ hash: 'my-video-1', exp: 1_893_456_000 }, secret)}\``);
  expect(text).toContain(`\`${signThumbPath(key, { w: 200, f: 'webp' }, secret)}\``);
});

test('`npm run token` prints a token with a valid signature', async () => {
  const token = await run('token.ts', ['--hash', 'my-video-1'], { KEY_TOKEN_SECRET: secret });
  expect(hasValidSignature(token, secret)).toBe(true);
});

test('`npm run thumb-url` prints the same address as signThumbPath', async () => {
  const env = { THUMB_SECRET: secret, BASE_URL: 'https://media.test' };
  expect(await run('thumb-url.ts', ['--key', key, '--w', '200', '--f', 'webp'], env)).toBe(
    `https://media.test${signThumbPath(key, { w: 200, f: 'webp' }, secret)}`,
  );
});

test.each(['token.ts', 'thumb-url.ts'])('%s without a secret prints its usage and exits with 2', async (script) => {
  await expect(run(script, ['--hash', 'x'].slice(0, script === 'token.ts' ? 2 : 0), {})).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('usage:') as string,
  });
});
