import { demuxers } from '../source/containers.ts';

/** More pixels than a frame of 8K DCI (8192 × 4320): no camera makes it, only a bomb. */
export const pixelsMax = 36_000_000;

/** What stands before every `-i` of ffmpeg and ffprobe: no address, no playlist, nothing but the file itself. */
export const guardArgs = ['-protocol_whitelist', 'file', '-format_whitelist', demuxers.join(',')] as const;

/** ffmpeg without a console; progress goes to stdout, one `key=value` a line. */
export const quietArgs = ['-nostdin', '-hide_banner', '-nostats', '-loglevel', 'warning', '-y'] as const;

/** What writes fragmented MP4 as the packager wants it: with `empty_moov` the edit list would be lost. */
export const fragmentedMp4Args = ['-movflags', '+frag_keyframe+delay_moov+default_base_moof', '-f', 'mp4'] as const;

/** Guarded arguments that open `source` as an input. */
export function inputArgs(source: string, seekSec?: number): string[] {
  return [
    ...guardArgs,
    '-max_pixels',
    String(pixelsMax),
    ...(seekSec === undefined || seekSec <= 0 ? [] : ['-ss', seekSec.toFixed(6)]),
    '-i',
    source,
  ];
}

/** Reads the lines of `-progress`: calls `onSec` with the seconds that are written, and keeps the count of frames. */
export class ProgressReader {
  frames = 0;
  readonly #onSec: (sec: number) => void;

  constructor(onSec: (sec: number) => void) {
    this.#onSec = onSec;
  }

  readonly line = (line: string): void => {
    const [key = '', value = ''] = line.split('=');
    if (key === 'frame' && /^\d+$/.test(value)) this.frames = Number(value);
    if (key === 'out_time_us' && /^-?\d+$/.test(value)) this.#onSec(Number(value) / 1e6);
  };
}
