import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '#platform/commands/find-program.ts';

export type CountedFfmpeg = Awaited<ReturnType<typeof countedFfmpeg>>;

/**
 * An ffmpeg that notes each of its commands before it runs it. On one core x264 has one thread, and the same frames
 * always become the same bytes. Of the chunks whose encoding has begun, the first waits until they are `encodesAtOnce`.
 */
export async function countedFfmpeg({ isOnOneCore = false, encodesAtOnce = 1 } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-ffmpeg-'));
  const [program, notes] = [join(dir, 'ffmpeg'), join(dir, 'commands')];
  const ffmpeg = findProgram('ffmpeg', process.env);
  await writeFile(notes, '');
  const begun = `$(grep -c trim=start_frame= ${notes})`;
  const script = [
    '#!/bin/sh',
    `echo "$*" >> ${notes}`,
    `case "$*" in *trim=start_frame=*) while [ ${begun} -lt ${encodesAtOnce} ]; do sleep 0.02; done;; esac`,
    `exec ${isOnOneCore ? 'taskset -c 0 ' : ''}${ffmpeg} "$@"`,
  ];
  await writeFile(program, `${script.join('\n')}\n`);
  await chmod(program, 0o755);
  const commands = async () => (await readFile(notes, 'utf8')).split('\n').slice(0, -1);
  return {
    /** For `FFMPEG_PATH`. */
    program,
    /** How many sources of chunks were cut. */
    cuts: async () => (await commands()).flatMap((command) => command.match(/ -f nut /g) ?? []).length,
    /** The first frame of each chunk whose encoding began, in the order of the beginnings. */
    encodes: async () =>
      (await commands()).flatMap((command) => /trim=start_frame=(\d+):/.exec(command)?.[1] ?? []).map(Number),
    remove: () => rm(dir, { recursive: true }),
  };
}

/** An ffmpeg that encodes as slowly as its source plays, and is idle meanwhile. Remove the folder after use. */
export async function slowFfmpeg(folder: string): Promise<string> {
  const [program, ffmpeg] = [join(folder, 'ffmpeg'), findProgram('ffmpeg', process.env)];
  const script = ['#!/bin/sh', `case "$*" in *libx264*) exec ${ffmpeg} -re "$@";; esac`, `exec ${ffmpeg} "$@"`];
  await writeFile(program, `${script.join('\n')}\n`, { mode: 0o755 });
  return program;
}
