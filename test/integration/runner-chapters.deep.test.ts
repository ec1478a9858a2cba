import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runTool } from '../../testing/media.ts';
import { removeRigs, runnerRig, runToResult } from '../../testing/runner.ts';

// Chapters of a source in results and as WebVTT.

const folders: string[] = [];
afterAll(async () => {
  await removeRigs();
  for (const folder of folders) await rm(folder, { recursive: true });
});

const metadata = `;FFMETADATA1
[CHAPTER]
TIMEBASE=1/1000
START=0
END=8500
title=Früh & <spät>
[CHAPTER]
TIMEBASE=1/1000
START=8500
END=20000
`;

async function source(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-chapters-'));
  folders.push(folder);
  await writeFile(join(folder, 'chapters.txt'), metadata);
  const args = `-f lavfi -i testsrc2=s=64x64:r=25:d=20 -i chapters.txt -map 0 -map_chapters 1 -c:v libx264 -preset ultrafast -g 50 ${name}`;
  await runTool('ffmpeg', ['-v', 'error', '-y', ...args.split(' ')], folder);
  return join(folder, name);
}

const expected = [
  { start_sec: 0, end_sec: 8.5, title: 'Früh & <spät>' },
  { start_sec: 8.5, end_sec: 20, title: 'Chapter 2' },
];
const cues =
  'WEBVTT\n\n1\n00:00:00.000 --> 00:00:08.500\nFrüh &amp; &lt;spät&gt;\n\n2\n00:00:08.500 --> 00:00:20.000\nChapter 2\n';

it.each(['mp4', 'mkv'])('C14.19: chapters of an %s are in the results and beside the stream', async (container) => {
  const rig = await runnerRig('video:transcode', await source(`clip.${container}`));
  const { chapters } = (await runToResult(rig)).results;
  expect(chapters?.list).toEqual(expected);
  expect(await readFile(rig.at(chapters?.cues ?? ''), 'utf8')).toBe(cues);
});
