import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { promisesIn } from '../architecture/contract.ts';
import { checkout } from '../../testing/checkout.ts';

// The examples of docs/how-to-add.md, performed on a copy of the tree as they are written.

const run = promisify(execFile);
const contract = 'docs/reference/contract.md';

/** An entry, such as `A setting`, with its fenced blocks in their order. */
export interface HowTo {
  readonly title: string;
  readonly blocks: readonly { readonly language: string; readonly text: string }[];
}

export function howTosOf(page: string): HowTo[] {
  const entries = page.split(/^\*\*(?=An? )/m).slice(1);
  return entries.map((entry) => ({
    title: entry.slice(0, entry.indexOf('.**')),
    blocks: [...entry.matchAll(/^(`{3,})(\w+)\n([\s\S]*?)^\1$/gm)].map(([, , language = '', text = '']) => ({
      language,
      text,
    })),
  }));
}

/** The tracked files of this checkout, and its `node_modules`, in a repository of its own. */
export async function copyTree(to: string): Promise<void> {
  await mkdir(to);
  const copy = 'git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --no-dereference -t "$0"';
  await run('bash', ['-c', copy, to], { cwd: checkout });
  await symlink(join(checkout, 'node_modules'), join(to, 'node_modules'));
  await runIn(to, 'git init --quiet && git add --all');
}

/** @throws the error of a command that fails, with its output */
export async function runIn(tree: string, script: string): Promise<string> {
  const paths = [join(checkout, 'node_modules/.bin'), join(checkout, '.tools/bin'), process.env['PATH'] ?? ''];
  const env = { ...process.env, PATH: paths.join(':') };
  const { stdout } = await run('bash', ['-ec', script], { cwd: tree, env, maxBuffer: 2 ** 26 }).catch(
    (error: Error & { stdout: string }) => {
      throw new Error(`${script}\n${error.stdout}${error.message}`, { cause: error });
    },
  );
  return stdout;
}

/** Applies the `diff` blocks of an entry and runs its `sh` blocks. */
export async function perform({ blocks }: HowTo, tree: string): Promise<void> {
  const numbers = await nextNumbers(tree);
  for (const { language, text } of blocks) {
    const numbered = numbers(text);
    if (language === 'sh') await runIn(tree, numbered);
    else if (language === 'diff') for (const file of numbered.split(/^\+\+\+ /m).slice(1)) await patch(file, tree);
    else throw new TypeError(`expected a block of diff or sh, found ${language}`);
  }
}

/** Fills in `<next>`: after `C13.` the next promise of the section, else the next number of the folder. */
async function nextNumbers(tree: string): Promise<(text: string) => string> {
  const promises = promisesIn(await readFile(join(tree, contract), 'utf8'));
  const numberIn = new Map<string, string>();
  for (const folder of ['platform/postgres/migrations', 'docs/decisions']) {
    const numbers = (await readdir(join(tree, folder))).map((name) => Number(/^\d{4}/.exec(name)?.[0] ?? 0));
    numberIn.set(folder, String(Math.max(...numbers) + 1).padStart(4, '0'));
  }
  return (text) =>
    text
      .replaceAll(/C(\d+)\.<next>/g, (_, section) => {
        const count = promises.filter((promise) => promise.section === Number(section)).length;
        return `C${section}.${count + 1}`;
      })
      .replaceAll(
        '<next>',
        numberIn.get(text.includes('migrations/') ? 'platform/postgres/migrations' : 'docs/decisions') ?? '',
      );
}

/** The path of a file in the first line, then hunks between lines `@@`. A file that is not there is created. */
async function patch(text: string, tree: string): Promise<void> {
  const [path = '', ...lines] = text.trimEnd().split('\n');
  const file = join(tree, path);
  const isNew = !existsSync(file);
  let content = isNew ? '' : await readFile(file, 'utf8');
  for (const hunk of lines.join('\n').split(/^@@$\n/m)) {
    const hunkLines = hunk.trimEnd().split('\n');
    const side = (removed: string) =>
      hunkLines.filter((line) => line[0] !== removed).map((line) => `${line.slice(1)}\n`);
    const [before, after] = [side('+').join(''), side('-').join('')];
    const parts = before === '' && isNew ? ['', ''] : content.split(linesOf(before, path));
    if (parts.length !== 2) throw new Error(`docs/how-to-add.md expects these lines once in ${path}:\n${before}`);
    content = parts.join(after);
  }
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

/** Lines as a file may have them: prettier aligns the tables of a page. */
function linesOf(text: string, path: string): RegExp {
  const literal = text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${path.endsWith('.md') ? literal.replaceAll(/ +/g, ' +') : literal}`, 'm');
}
