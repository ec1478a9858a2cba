import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { useImageFfmpeg } from '../../testing/image-ffmpeg.ts';
import { madeOnce } from '../../testing/made-once.ts';
import { changedSample, sample } from '../../testing/media.ts';
import { removeRigs } from '../../testing/runner.ts';
import { transcode } from '../../testing/transcode.ts';

// Subtitles that users of other tools reported, read as players show them.

useImageFfmpeg();
afterAll(removeRigs);

const times = ['00:00:00,500 --> 00:00:01,000', '00:00:01,000 --> 00:00:02,000', '00:00:02,500 --> 00:00:03,000'];

/** A video of 4 s with cues; `Q` of the second stands for the byte E9, which is é in Latin-1 and no UTF-8. */
async function withCues(name: string, codec: string, cues: readonly string[]): Promise<string> {
  const text = cues.map((cue, index) => `${index + 1}\n${times[index] ?? ''}\n${cue}\n`).join('\n');
  const folder = await madeOnce({ name: 'cues', from: text, code: [] }, (made) => writeFile(join(made, 'x.srt'), text));
  const video = '-f lavfi -i testsrc2=size=64x64:rate=25:duration=4';
  const codecs = `-c:v libx264 -preset ultrafast -c:s ${codec}`;
  const whole = await sample(name, `${video} -i ${join(folder, 'x.srt')} -map 0 -map 1 ${codecs}`);
  return changedSample(`latin-${name}`, whole, (bytes) => {
    const changed = Buffer.from(bytes);
    for (let at = changed.indexOf('CAFQ'); at !== -1; at = changed.indexOf('CAFQ')) changed[at + 3] = 0xe9;
    return changed;
  });
}

async function shown(source: string) {
  const made = await transcode(source);
  const [track] = made.results.text_tracks ?? [];
  const text = track === undefined ? '' : await readFile(join(made.rig.at(track.playlist), '../captions.vtt'), 'utf8');
  const cues = text.split('\n').filter((line) => /caf/i.test(line) || line === 'plain');
  return { cues, warnings: made.warnings };
}

describe('subtitles that are not UTF-8', () => {
  it('C16.18: cues that are not UTF-8 are read as Windows-1252, the others as they are', async () => {
    const source = await withCues('cues.mkv', 'copy', ['plain', 'café in UTF-8', 'CAFQ latin']);
    expect(await shown(source)).toEqual({
      cues: ['plain', 'café in UTF-8', 'CAFé latin'],
      warnings: ['subtitles_recoded'],
    });
  });

  it('C16.18: a whole track that is not UTF-8 is shown', async () => {
    const source = await withCues('all-cues.mkv', 'copy', ['CAFQ one', 'CAFQ two', 'CAFQ three']);
    expect(await shown(source)).toEqual({
      cues: ['CAFé one', 'CAFé two', 'CAFé three'],
      warnings: ['subtitles_recoded'],
    });
  });

  it('C16.18: cues of timed text that are not UTF-8 are left out, with a warning', async () => {
    const source = await withCues('cues.mp4', 'mov_text', ['plain', 'café in UTF-8', 'CAFQ latin']);
    expect(await shown(source)).toEqual({ cues: ['plain', 'café in UTF-8'], warnings: ['subtitles_left_out'] });
  });
});
