import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { storyboardPaths } from '#domain/media/revision-layout.ts';
import {
  planStoryboard,
  sheetLayout,
  sheetNumbers,
  type Storyboard,
  storyboardCues,
  type StoryboardLine,
  storyboardPlaylist,
} from '#domain/media/storyboard.ts';
import type { Command } from '#platform/commands/command.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import { inputArgs, quietArgs } from '../../tools/ffmpeg.ts';
import { runTool } from '../../tools/run-tool.ts';
import { type Encoded, encodedFile } from './encoded.ts';
import { encodeTimeoutMs, undecodable } from './encoder-limits.ts';

/** The frames of an encoded stream: the key frames of its smallest rung of SDR. */
function storyboardOf({ video, frames, grid }: Pick<Encoded, 'video' | 'frames' | 'grid'>) {
  const smallest = video
    .filter(({ range }) => range === 'sdr')
    .reduce((least, rung) => (rung.height < least.height ? rung : least));
  return { rung: smallest, storyboard: planStoryboard(smallest, { frames, grid }) };
}

/** A sheet in the workspace. */
function sheetFile(number: number | '%d'): string {
  return join(workspaceFiles.made, storyboardPaths.sheet(number));
}

/** Draws the sheets of an encoded stream into the workspace. */
export async function makeStoryboard(
  encoded: Pick<Encoded, 'video' | 'frames' | 'grid'>,
  context: StepContext,
): Promise<void> {
  const { rung, storyboard } = storyboardOf(encoded);
  await mkdir(context.workspace.at(join(sheetFile(1), '..')), { recursive: true });
  const command = storyboardCommand(context.program('ffmpeg'), {
    input: encodedFile('video', rung.id),
    tile: storyboard.tile,
    output: sheetFile('%d'),
  });
  await runTool(
    command,
    { timeoutMs: encodeTimeoutMs(storyboard.durationSec, encoded.frames), failure: undecodable },
    context,
  );
}

/** Decodes key frames alone, one for each GOP, and puts them on sheets. */
function storyboardCommand(
  program: string,
  { input, tile, output }: { readonly input: string; readonly tile: Storyboard['tile']; readonly output: string },
): Command {
  const { columns, rows } = sheetLayout;
  const filters = `scale=${tile.width}:${tile.height}:flags=area,setsar=1,tile=${columns}x${rows}`;
  return {
    program,
    args: [
      ...quietArgs,
      ...inputArgs(input, 0, ['-skip_frame', 'nokey']),
      '-vf',
      filters,
      '-fps_mode',
      'passthrough',
      '-q:v',
      '5',
      '-f',
      'image2',
      output,
    ],
  };
}

/** The sheets of an encoded stream, in order, as files of the workspace. */
export function storyboardSheets(encoded: Pick<Encoded, 'video' | 'frames' | 'grid'>): string[] {
  return sheetNumbers(storyboardOf(encoded).storyboard).map(sheetFile);
}

/** The references to a stream's sheets, which have `bytes` bytes: its texts by their paths, and its line elsewhere. */
export function storyboardTexts(
  encoded: Pick<Encoded, 'video' | 'frames' | 'grid'>,
  bytes: number,
): { readonly texts: ReadonlyMap<string, string>; readonly line: StoryboardLine } {
  const { storyboard } = storyboardOf(encoded);
  const texts = new Map([
    [storyboardPaths.playlist, storyboardPlaylist(storyboard)],
    [storyboardPaths.cues, storyboardCues(storyboard)],
  ]);
  return { texts, line: { storyboard, bandwidth: Math.ceil((bytes * 8) / storyboard.durationSec) } };
}
