import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeSources } from '../../demo/sample.ts';

test('an INPUT without video is refused before the service starts, with the containers that are supported', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-input-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const input = join(folder, 'notes.mp4');
  await writeFile(input, 'only text');
  const sources = makeSources({
    bucket: join(folder, 'bucket'),
    input,
    env: process.env,
    signal: new AbortController().signal,
    say: () => {},
  });
  await expect(sources).rejects.toThrow(/^INPUT: .*notes\.mp4 is not a media file\. Supported containers: MP4, MOV/);
});
