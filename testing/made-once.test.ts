import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { madeOnce, type Shelf } from './made-once.ts';

let shelf: Shelf;
beforeEach(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-made-'));
  shelf = { folder: join(dir, 'shelf'), tree: dir, bytesMax: 1_000_000 };
  shelf = { ...shelf, tree: await treeOf('export {};') };
});
afterEach(() => rm(join(shelf.folder, '..'), { recursive: true }));

/** A tree with a module that imports another, which has this text. */
async function treeOf(text: string): Promise<string> {
  const tree = await mkdtemp(join(shelf.folder, '../tree-'));
  await writeFile(join(tree, 'make.ts'), "import './part.ts';");
  await writeFile(join(tree, 'part.ts'), text);
  return tree;
}

const recipe = { name: 'thing', from: ['a'], code: ['make.ts'] };
let made = 0;
const make = async (folder: string) => {
  made += 1;
  await writeFile(join(folder, 'file'), String(made));
};

/** A process that makes the same folder. It says `making`, and ends once its standard input does. */
function otherProcess() {
  const module = JSON.stringify(pathToFileURL(join(import.meta.dirname, 'made-once.ts')).href);
  const script = `
    import { writeFileSync } from 'node:fs';
    const { madeOnce } = await import(${module});
    const make = async (folder) => {
      console.log('making');
      for await (const _ of process.stdin);
      writeFileSync(folder + '/file', String(process.pid));
    };
    const folder = await madeOnce(${JSON.stringify(recipe)}, make, ${JSON.stringify(shelf)});
    console.log(folder);
    process.exit();`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['pipe', 'pipe', 'inherit'] });
}

/** The number that `make` wrote. */
const numberIn = async (folder: string) => readFile(join(folder, 'file'), 'utf8');

describe('a folder that is made once', () => {
  it('a folder is made again when arguments or code have changed, and no other time', async () => {
    const first = await madeOnce(recipe, make, shelf);
    expect(await madeOnce(recipe, make, shelf)).toBe(first);
    expect(await madeOnce({ ...recipe, from: ['b'] }, make, shelf)).not.toBe(first);
    // Code is read once in a process, so changed code is another tree here.
    expect(await madeOnce(recipe, make, { ...shelf, tree: await treeOf('export {};') })).toBe(first);
    expect(await madeOnce(recipe, make, { ...shelf, tree: await treeOf('export { };') })).not.toBe(first);
  });

  it('two processes that want a folder at once make it once', async () => {
    const other = otherProcess();
    await once(other.stdout, 'readable');
    const before = made;
    const mine = madeOnce(recipe, make, shelf);
    const printed = readText(other.stdout);
    other.stdin.end();
    expect(await printed).toBe(`making\n${await mine}\n`);
    expect(await numberIn(await mine)).toBe(String(other.pid));
    expect(made).toBe(before);
  });

  it('a folder whose maker was killed is made by the one that waits', async () => {
    const other = otherProcess();
    await once(other.stdout, 'readable');
    const mine = madeOnce(recipe, make, shelf);
    other.kill('SIGKILL');
    expect(await numberIn(await mine)).toBe(String(made));
  });
});
