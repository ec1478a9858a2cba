import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { dataFolderAt, readOrMakeSecrets } from '../../demo/data-folder.ts';
import { makeSample, testBars, videoCommand } from '../../demo/sample.ts';
import { choosePort, type Service, startService } from '../../demo/service.ts';
import { checkout } from '../../testing/checkout.ts';
import { blocksOfPage, openShell, type PageBlock, type PastedShell } from '../../testing/pasted-page.ts';

// README.md as it is written, pasted into one shell in its order, against the service that `make demo` starts: the
// clients are packed and installed as it says, from a copy of the checkout, and its programs are run from the files
// that it names. Only the address of the service is another one.

const blocks = blocksOfPage(await readFile(join(checkout, 'README.md'), 'utf8'));
const pasted = blocks.filter(({ notPasted }) => notPasted === null);
const programFiles: Readonly<Record<string, string>> = { ts: 'upload.ts', py: 'upload.py' };

/** The reason why this machine cannot install packages, or nothing. */
const missing = await promisify(execFile)('sh', ['-c', 'npm ping && python3 -m venv --help'], { timeout: 30_000 }).then(
  () => '',
  (error: Error) => error.message,
);

/** What a build or an installation leaves, which a fresh clone has not. */
const isMade = (path: string) => ['dist', 'node_modules'].includes(basename(path)) || path.endsWith('.tgz');

let folder: string;
let copy: string;
let service: Service | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-readme-'));
  // As root, PostgreSQL runs as another user, which must be able to enter this folder.
  await chmod(folder, 0o755);
  copy = join(folder, 'checkout');
  await cp(join(checkout, 'clients'), join(copy, 'clients'), { recursive: true, filter: (path) => !isMade(path) });
  for (const name of ['node_modules', 'package.json', 'tsconfig.json'])
    await symlink(join(checkout, name), join(copy, name));
  const data = await dataFolderAt(join(copy, '.reelwright/demo'));
  const secrets = await readOrMakeSecrets(data);
  const { signal } = new AbortController();
  const size = { width: 320, height: 180, frameRate: 25, durationSec: 4 };
  await mkdir(join(folder, 'work'));
  const command = videoCommand(findProgram('ffmpeg', process.env), size, testBars);
  await makeSample({ file: join(folder, 'work/movie.mp4'), command, signal });
  const env = { ...process.env, X264_PRESET: 'ultrafast' };
  const settings = { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' };
  service = await startService({ checkout, data, secrets, port: await choosePort('0'), env, settings, signal });
}, 180_000);
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

it('README.md says of each block of a shell or a program that is not pasted why it is not', () => {
  const runs = blocks.filter(({ language }) => ['sh', 'ts', 'py', ''].includes(language));
  expect(runs.filter(({ language }) => language === '')).toEqual([]);
  expect(pasted.filter(({ language }) => language in programFiles)).toHaveLength(2);
  expect(runs.filter(({ notPasted }) => notPasted !== null).map(({ code }) => code.split(' ', 2)[0])).toEqual([
    'make',
    'make',
  ]);
});

it.skipIf(missing !== '')(
  'README.md, pasted top to bottom, installs both clients, and each program prints an address that plays',
  { timeout: 600_000 },
  async () => {
    const baseUrl = service?.baseUrl ?? '';
    const path = `${join(checkout, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`;
    // The machine's own settings of npm, pip and certificates.
    const env = { ...process.env, PATH: path, CHECKOUT: copy };
    const shell = openShell({ cwd: join(folder, 'work'), env, timeoutMs: 300_000 });
    onTestFinished(() => shell.close());
    for (const block of pasted) await paste(block, shell, baseUrl);
    const addresses = [...shell.output().matchAll(/^(\S+)\/player\/#hash=movie-1&token=(\S+)$/gm)];
    expect(addresses.map(([, url]) => url)).toEqual([baseUrl, baseUrl]);
    for (const [, , token] of addresses) {
      const key = await fetch(`${baseUrl}/api/key/movie-1`, { headers: { authorization: `Bearer ${token}` } });
      expect((await key.arrayBuffer()).byteLength).toBe(16);
    }
    expect(shell.output().match(/^100 %$/gm)).toHaveLength(2);
  },
);

/** Runs a block of a shell, or writes a program into its file. */
async function paste(block: PageBlock, shell: PastedShell, baseUrl: string): Promise<void> {
  const file = programFiles[block.language];
  if (file !== undefined) await writeFile(join(folder, 'work', file), block.code);
  else if (block.language === 'sh') await shell.run(block.code.replace('http://localhost:3000', baseUrl));
}
