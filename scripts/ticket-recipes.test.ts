import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { signedStreamUrl, streamTicket } from '../clients/typescript/src/server.ts';

// The recipes of docs/guides/tickets.md, by the programs that this machine has.

const page = await readFile(new URL('../docs/guides/tickets.md', import.meta.url), 'utf8');
const secret = 'a secret of at least sixteen bytes';
const claims = { hash: 'my-video-1', exp: 1_893_456_000 };
const tickets = [
  signStreamTicket(claims, secret),
  signStreamTicket({ ...claims, generation: 2, scope: '720p~sid-a1b2' }, secret),
];

const recipeIn = (language: string) =>
  new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? '';
const [plain, scoped] = [`"my-video-1", 1893456000, "${secret}"`, '2, "720p~sid-a1b2"'];

interface Recipe {
  readonly language: string;
  readonly command: readonly string[];
  readonly file: string;
  readonly program: (recipe: string) => string;
}

const recipes: readonly Recipe[] = [
  {
    language: 'js',
    command: [process.execPath],
    file: 'ticket.mjs',
    program: (recipe) =>
      `${recipe}\nconsole.log(streamTicket(${plain}));\nconsole.log(streamTicket(${plain}, ${scoped}));`,
  },
  {
    language: 'python',
    command: ['python3'],
    file: 'ticket.py',
    program: (recipe) => `${recipe}\nprint(stream_ticket(${plain}))\nprint(stream_ticket(${plain}, ${scoped}))\n`,
  },
  {
    language: 'go',
    command: ['go', 'run'],
    file: 'ticket.go',
    program: (recipe) => `package main
import ("crypto/hmac"; "crypto/sha256"; "encoding/base64"; "fmt")
${recipe}
func main() { fmt.Println(StreamTicket(${plain}, 0, "")); fmt.Println(StreamTicket(${plain}, ${scoped})) }`,
  },
  {
    language: 'java',
    command: ['java'],
    file: 'Ticket.java',
    program: (recipe) => `import java.util.Base64; import javax.crypto.Mac; import javax.crypto.spec.SecretKeySpec;
class Ticket { ${recipe.replaceAll('1893456000', '1893456000L')}
public static void main(String[] args) throws Exception {
System.out.println(streamTicket(${plain.replace('6000', '6000L')}, 0, ""));
System.out.println(streamTicket(${plain.replace('6000', '6000L')}, ${scoped})); } }`,
  },
  {
    language: 'php',
    command: ['php'],
    file: 'ticket.php',
    program: (recipe) =>
      `<?php\n${recipe}\necho stream_ticket(${plain}), "\\n", stream_ticket(${plain}, ${scoped}), "\\n";`,
  },
];

test('C33.1: docs/guides/tickets.md shows the tickets that the service accepts', () => {
  for (const ticket of tickets) expect(page).toContain(`\`${ticket}\``);
});

test.each(recipes)('the $language recipe of a ticket has at most twelve lines', ({ language }) => {
  const lines = recipeIn(language)
    .split('\n')
    .filter((line) => line.trim() !== '');
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.length).toBeLessThanOrEqual(12);
});

const has = (name: string) => spawnSync(name, [name === 'go' ? 'version' : '--version']).status === 0;
const runnable = recipes.filter(({ command: [name = ''] }) => has(name));

test.each(runnable)(
  'the $language recipe makes the tickets',
  async ({ language, command, file, program }) => {
    const dir = await mkdtemp(join(tmpdir(), 'reelwright-ticket-'));
    try {
      const path = join(dir, file);
      await writeFile(path, program(recipeIn(language)));
      const [name = '', ...args] = command;
      const { stdout } = await promisify(execFile)(name, [...args, path], { cwd: dir });
      expect(stdout.trim().split('\n')).toEqual(tickets);
    } finally {
      await rm(dir, { recursive: true });
    }
  },
  120_000,
);

test('the TypeScript client makes the tickets', async () => {
  const { hash, exp } = claims;
  expect(await streamTicket(hash, secret, { exp })).toBe(tickets[0]);
  expect(await streamTicket(hash, secret, { exp, generation: 2, scope: '720p~sid-a1b2' })).toBe(tickets[1]);
  expect(signedStreamUrl('https://media.test/', hash, 'T')).toBe(`https://media.test/s/T/${hash}/master.m3u8`);
});

test.skipIf(!has('python3'))('the Python client makes the tickets', async () => {
  const module = new URL('../clients/python/src/reelwright/signing.py', import.meta.url);
  const source = (await readFile(module, 'utf8')).replaceAll(/^from \..*$/gm, '');
  const program = `${source}
print(stream_ticket("my-video-1", "${secret}", exp=1893456000))
print(stream_ticket("my-video-1", "${secret}", exp=1893456000, generation=2, scope="720p~sid-a1b2"))`;
  const { stdout } = await promisify(execFile)('python3', ['-c', program]);
  expect(stdout.trim().split('\n')).toEqual(tickets);
});
