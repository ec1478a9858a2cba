import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterEach, expect, it } from 'vitest';
import { checkout } from '../../testing/checkout.ts';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';
import { removeFolder } from '../../testing/remove-folder.ts';

// docs/guides/signing.md pasted from top to bottom in a fresh clone, against a server that has the page's secrets. The
// recipes of other languages are run by scripts/signing.test.ts.

const key = 'images/ab/photo/0123456789abcdef/thumb.webp';
const secret = 'a secret of at least sixteen bytes';
const run = promisify(execFile);

afterEach(endPrograms);

it('C20.20: the commands of the page of signing lead to an image, and to a token, in a fresh clone', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-signing-page-'));
  try {
    const clone = join(dir, 'clone');
    await run('git', ['clone', '--quiet', '--no-hardlinks', checkout, clone]);
    await symlink(join(checkout, 'node_modules'), join(clone, 'node_modules'));
    const page = await readFile(join(clone, 'docs/guides/signing.md'), 'utf8');
    const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, command = '']) => command);
    const printed = [];
    const { PATH, HOME } = process.env;
    for (const command of commands)
      printed.push((await run('sh', ['-c', command], { cwd: clone, env: { PATH, HOME } })).stdout.trim());
    expect(printed).toEqual([expect.stringMatching(/^\/thumb\//), expect.stringMatching(/^[\w-]+\.[\w-]+$/)]);

    const object = join(dir, 'media', key);
    await mkdir(dirname(object), { recursive: true });
    const picture = sharp({ create: { width: 300, height: 200, channels: 3, background: '#336699' } });
    await writeFile(object, await picture.webp().toBuffer());
    const env = {
      MODE: 'server',
      SERVER_SURFACES: 'delivery',
      KEY_TOKEN_SECRET: secrets.KEY_TOKEN_SECRET,
      ENCRYPTION_KEY: secrets.ENCRYPTION_KEY,
      THUMB_SECRET: secret,
      THUMB_UNSIGNED: 'on',
      // Images need no database, and there is none.
      DATABASE_URL: 'postgres://unused@127.0.0.1:1/none',
      MEDIA_BUCKET: `file:${join(dir, 'media')}`,
    };
    const program = await startProgram({ env, waits: 'alive' });
    const unsigned = /`http:\/\/127\.0\.0\.1:3000(\/thumb\/unsigned\/\S+)`/.exec(page)?.[1] ?? '';
    for (const path of [printed[0] ?? '', unsigned]) {
      const answer = await fetch(`${program.url}${path}`);
      expect([path, answer.status]).toEqual([path, 200]);
      expect((await sharp(Buffer.from(await answer.arrayBuffer())).metadata()).width).toBe(200);
    }
    expect(program.output()).toContain('images are served without signatures');
  } finally {
    // The program is stopped after the test.
    await removeFolder(dir);
  }
}, 120_000);

it('C20.20: a server that is public does not start without signatures', async () => {
  const program = run(process.execPath, ['main.ts', '--check-config'], {
    cwd: checkout,
    env: { PATH: process.env['PATH'], THUMB_UNSIGNED: 'on', NODE_ENV: 'production' },
  });
  await expect(program).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('THUMB_UNSIGNED: expected off where NODE_ENV is production') as string,
  });
});
