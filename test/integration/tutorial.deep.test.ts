import { chmod, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { dataFolderAt, readOrMakeSecrets } from '../../demo/data-folder.ts';
import { makeSample, testBars, videoCommand } from '../../demo/sample.ts';
import { choosePort, type Service, startService } from '../../demo/service.ts';
import { chromiumPath, openPage } from '../../testing/browser.ts';
import { checkout } from '../../testing/checkout.ts';
import { until } from '../../testing/controller-rig.ts';
import { blocksOfPage, openShell } from '../../testing/pasted-page.ts';

// docs/guides/tutorial.md as it is written, pasted into one shell, against the service that `make demo` starts.

const page = await readFile(join(checkout, 'docs/guides/tutorial.md'), 'utf8');
const blocks = blocksOfPage(page).map(({ code }) => code);
let folder: string;
let service: Service | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-tutorial-'));
  // As root, PostgreSQL runs as another user, which must be able to enter this folder.
  await chmod(folder, 0o755);
  for (const name of ['examples', 'scripts', 'package.json']) await symlink(join(checkout, name), join(folder, name));
  const data = await dataFolderAt(join(folder, '.reelwright/demo'));
  const secrets = await readOrMakeSecrets(data);
  const { signal } = new AbortController();
  const size = { width: 320, height: 180, frameRate: 25, durationSec: 4 };
  const command = videoCommand(findProgram('ffmpeg', process.env), size, testBars);
  await makeSample({ file: join(folder, 'movie.mp4'), command, signal });
  const env = { ...process.env, X264_PRESET: 'ultrafast' };
  const settings = { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' };
  service = await startService({ checkout, data, secrets, port: await choosePort('0'), env, settings, signal });
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('docs/guides/tutorial.md', () => {
  it('leads in nine commands from nothing to a video that was played, reported and deleted', async () => {
    expect(blocks).toHaveLength(9);
    const [
      start,
      secrets = '',
      receive = '',
      upload = '',
      submit = '',
      follow = '',
      play = '',
      remove = '',
      receipt = '',
    ] = blocks;
    // test/integration/demo-input.test.ts and the continuous integration run it.
    expect(start).toBe('make demo\n');
    const baseUrl = service?.baseUrl ?? '';
    const env = { PATH: `${join(checkout, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`, HOME: folder };
    const shell = openShell({ cwd: folder, env });
    // The receiver runs on in the background.
    onTestFinished(() => shell.close());
    await shell.run(secrets.replace('http://localhost:3000', baseUrl));
    await shell.run(receive);
    expect(await shell.run(upload)).toContain('100 % of movie.mp4');
    await shell.run(submit);
    expect(await shell.run(follow)).toContain('"status":"completed"');
    const said = /`(genuine webhook: [^`]+)`/.exec(page)?.[1] ?? 'none';
    await until(
      async () => shell.output(),
      (text) => text.includes(said),
      20_000,
    );

    const address = (await shell.run(play)).trim();
    const [, token = ''] = /#hash=my-movie&token=(\S+)$/.exec(address) ?? [];
    const key = () => fetch(`${baseUrl}/api/key/my-movie`, { headers: { authorization: `Bearer ${token}` } });
    expect((await key()).status).toBe(200);
    if (chromiumPath !== null) await expectToPlay(address);

    expect(JSON.parse(await shell.run(remove))).toMatchObject({ hash: 'my-movie', reason: 'request' });
    await expect.poll(async () => (await key()).status).toBe(410);
    await until(
      async () => JSON.parse(await shell.run(receipt)) as { status: string; receipt: object | null },
      ({ status, receipt: found }) => status === 'deleted' && found !== null,
      30_000,
    );
  });
});

async function expectToPlay(address: string): Promise<void> {
  const { page: opened } = await openPage();
  await opened.goto(address);
  await opened.locator('#big-play').click();
  const time = () => opened.evaluate<number>('document.querySelector("video").currentTime');
  await expect.poll(time).toBeGreaterThan(0.5);
}
