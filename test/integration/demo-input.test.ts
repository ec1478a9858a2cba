import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeSources } from '../../demo/sample.ts';
import { runTool } from '../../testing/media.ts';

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-input-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const sourcesOf = (folder: string, input: string) =>
  makeSources({
    bucket: join(folder, 'bucket'),
    input,
    env: process.env,
    signal: new AbortController().signal,
    say: () => {},
  });

test('an INPUT without video is refused before the service starts, with the containers that are supported', async () => {
  const folder = await emptyFolder();
  const input = join(folder, 'notes.mp4');
  await writeFile(input, 'only text');
  await expect(sourcesOf(folder, input)).rejects.toThrow(
    /^INPUT: .*notes\.mp4 is not a media file\. Supported containers: MP4, MOV/,
  );
});

const cover = '-f lavfi -i color=red:s=64x64:d=0.04 -frames:v 1';
const tone = '-f lavfi -i sine=duration=1';

test.each([
  { name: 'photo.jpg', kind: 'image', made: cover },
  { name: 'photo.PNG', kind: 'image', made: `${cover} -f image2 -c:v png` },
  { name: 'speech.wav', kind: 'audio', made: tone },
  { name: 'song.flac', kind: 'audio', made: `${tone} ${cover} -map 0 -map 1 -c:v png -disposition:v attached_pic` },
])('the INPUT $name alone is the source, as $kind', async ({ name, kind, made }) => {
  const folder = await emptyFolder();
  await runTool('ffmpeg', ['-v', 'error', ...made.split(' '), join(folder, name)]);
  const sources = await sourcesOf(folder, join(folder, name));
  const key = Object.values(sources)[0] ?? '';
  expect(sources).toEqual({ [kind]: key });
  expect(await readdir(join(folder, 'bucket/input'))).toEqual([key.slice('input/'.length)]);
});
