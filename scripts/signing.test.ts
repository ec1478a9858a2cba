import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken, verifyPlaybackToken } from '#domain/playback/token.ts';

const secret = 'a secret of at least sixteen bytes';
const key = 'images/ab/photo/0123456789abcdef/thumb.webp';
const page = new URL('../docs/guides/signing.md', import.meta.url);

async function run(script: string, args: string[], env: Record<string, string>): Promise<string> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return (await promisify(execFile)(process.execPath, [path, ...args], { env })).stdout.trim();
}

const exp = 1_893_456_000;
const query = { w: 200, f: 'webp' } as const;
const [derivedSecret = ''] = thumbSecretsOf([], secret);
const vectors = [
  signPlaybackToken({ hash: 'my-video-1', exp }, secret),
  signThumbPath(key, query, secret),
  derivedSecret,
];

/** The code blocks of docs/guides/signing.md in a language, as one program. */
async function programOf(language: string, blocksWanted = 2): Promise<string> {
  const text = await readFile(page, 'utf8');
  const blocks = [...text.matchAll(new RegExp(String.raw`^\`\`\`${language}\n([\s\S]*?)^\`\`\`$`, 'gm'))];
  expect(blocks).toHaveLength(blocksWanted);
  return blocks.map(([, code = '']) => code).join('\n');
}

test('C19.5, C20.2, C20.10: docs/guides/signing.md shows the token, the address and the derived secret that the functions make', async () => {
  const text = await readFile(page, 'utf8');
  for (const vector of vectors) expect(text).toContain(`\`${vector}\``);
});

test('the Node code in docs/guides/signing.md makes the vectors', async () => {
  // Two imports of one module may not name the same function twice.
  const code = (await programOf('js')).replace(/^import \{ createHmac \} from 'node:crypto';$/m, '');
  const calls = `console.log([playbackToken('my-video-1', ${exp}, '${secret}'), imageAddress('${key}', { w: 200, f: 'webp' }, '${secret}'), derivedImageSecret('${secret}')].join('\\n'))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', `${code}\n${calls}`]);
  expect(stdout.trim().split('\n')).toEqual(vectors);
});

test('the Web Crypto code in docs/guides/signing.md makes the vectors in strict TypeScript', async () => {
  const code = await programOf('ts', 1);
  const calls = `console.log(await playbackToken('my-video-1', ${exp}, '${secret}'));
console.log(await imageAddress('${key}', { w: '200', f: 'webp' }, '${secret}'));
console.log(await derivedImageSecret('${secret}'));`;
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-signing-'));
  try {
    const file = join(dir, 'signing.mts');
    await writeFile(file, `${code}\n${calls}\n`);
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(stdout.trim().split('\n')).toEqual(vectors);
    const tsc = fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url));
    const settings = '--noEmit --strict --noImplicitAny --target es2024 --module esnext --lib es2024,dom'.split(' ');
    await promisify(execFile)(tsc, [...settings, '--types', '', '--ignoreConfig', file], { cwd: dir });
  } finally {
    await rm(dir, { recursive: true });
  }
}, 60_000);

const imageKeys = [
  { key, options: { w: '200', f: 'webp' } },
  { key: 'images/ab/Été 1/0123456789abcdef/ÿ?.webp', options: { crop: '0-0-10-10', dpr: '1.5', w: '9' } },
  { key, options: {} },
];
const imageVectors = imageKeys.map((image) => signThumbPath(image.key, image.options, secret));

interface Recipe {
  readonly language: string;
  readonly command: readonly [string, ...string[]];
  readonly file: string;
  /** The program that prints the vectors, by calls of the recipe with literals of its language. */
  readonly program: (code: string) => string;
}

/** The items of a literal of options. */
const items = (options: object, separator: string, end = '') =>
  Object.entries(options)
    .map(([name, value]) => `"${name}"${separator}"${value}"${end}`)
    .join(', ');
/** A line for each image. */
const each = (call: (image: (typeof imageKeys)[number]) => string) => imageKeys.map(call).join('\n');

const recipes: readonly Recipe[] = [
  {
    language: 'go',
    command: ['go', 'run'],
    file: 'image.go',
    program: (code) => `package main
import ("crypto/hmac"; "crypto/sha256"; "encoding/base64"; "fmt"; "net/url")
${code}
func main() {
${each((image) => `fmt.Println(ImageAddress("${image.key}", url.Values{${items(image.options, ': []string{', '}')}}, "${secret}"))`)}
}`,
  },
  {
    language: 'php',
    command: ['php'],
    file: 'image.php',
    program: (code) => `<?php
${code}
${each((image) => `echo image_address("${image.key}", [${items(image.options, ' => ')}], "${secret}"), "\\n";`)}`,
  },
  {
    language: 'ruby',
    command: ['ruby'],
    file: 'image.rb',
    program: (code) => `${code}
${each((image) => `puts image_address("${image.key}", {${items(image.options, ' => ')}}, "${secret}")`)}`,
  },
];

const has = (name: string) => spawnSync(name, [name === 'go' ? 'version' : '--version']).status === 0;

for (const { language, command, file, program } of recipes) {
  test(`the ${language} code of an image address in docs/guides/signing.md has at most twelve lines`, async () => {
    const lines = (await programOf(language, 1)).split('\n').filter((line) => line.trim() !== '');
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.length).toBeLessThanOrEqual(12);
  });

  test.skipIf(!has(command[0]))(
    `C20.2: the ${language} code in docs/guides/signing.md makes the addresses of images`,
    async () => {
      const dir = await mkdtemp(join(tmpdir(), 'reelwright-signing-'));
      try {
        const path = join(dir, file);
        await writeFile(path, program(await programOf(language, 1)));
        const [name, ...args] = command;
        const { stdout } = await promisify(execFile)(name, [...args, path], { cwd: dir });
        expect(stdout.trim().split('\n')).toEqual(imageVectors);
      } finally {
        await rm(dir, { recursive: true });
      }
    },
    120_000,
  );
}

test('docs/guides/signing.md begins with one line that prints the address of an image', async () => {
  const [first = '', second = ''] = (await programOf('sh'))
    .trim()
    .split('\n')
    .filter((line) => line !== '');
  const [cwd, { PATH, HOME }] = [fileURLToPath(new URL('..', import.meta.url)), process.env];
  const paste = async (line: string) =>
    (await promisify(execFile)('sh', ['-c', line], { cwd, env: { PATH, HOME } })).stdout.trim();
  expect(await paste(first)).toBe(vectors[1]);
  expect(verifyPlaybackToken(await paste(second), secret, { hash: 'my-video-1', nowSec: 0 })).toBe('valid');
});

const hasPython = spawnSync('python3', ['--version']).status === 0;
test.skipIf(!hasPython)('the Python code in docs/guides/signing.md makes the vectors', async () => {
  const code = await programOf('python');
  const calls = `print(playback_token("my-video-1", ${exp}, "${secret}"), image_address("${key}", {"w": 200, "f": "webp"}, "${secret}"), derived_image_secret("${secret}"), sep="\\n")`;
  const { stdout } = await promisify(execFile)('python3', ['-c', `${code}\n${calls}`]);
  expect(stdout.trim().split('\n')).toEqual(vectors);
});

test('`npm run token` prints a token with a valid signature', async () => {
  const token = await run('token.ts', ['--hash', 'my-video-1'], { KEY_TOKEN_SECRET: secret });
  expect(verifyPlaybackToken(token, secret, { hash: 'my-video-1', nowSec: 0 })).toBe('valid');
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
