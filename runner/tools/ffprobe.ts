import type { Command } from '#platform/commands/command.ts';
import { guardArgs } from './ffmpeg.ts';

/** Analysed before ffprobe gives up on a late stream. */
const lookArgs = ['-probesize', '20M', '-analyzeduration', '20M'] as const;

/** Everything that the headers of `source` say, as JSON. */
export function describeCommand(program: string, source: string): Command {
  return {
    program,
    args: ['-v', 'error', ...guardArgs, ...lookArgs, '-show_format', '-show_streams', '-of', 'json', '-i', source],
  };
}

interface PacketTimes {
  readonly streamIndex: number;
  /** Where to begin, seconds from the start of the file. */
  readonly fromSec: number;
  /** Null for all to the end. */
  readonly packetsMax: number | null;
}

/** Presentation and decoding time and duration of packets, a line each, without decoding. */
export function packetTimesCommand(
  program: string,
  source: string,
  { streamIndex, fromSec, packetsMax }: PacketTimes,
): Command {
  const interval = `${fromSec > 0 ? `+${fromSec.toFixed(3)}` : ''}%${packetsMax === null ? '' : `+#${packetsMax}`}`;
  return {
    program,
    args: [
      '-v',
      'error',
      ...guardArgs,
      ...lookArgs,
      '-select_streams',
      String(streamIndex),
      ...(interval === '%' ? [] : ['-read_intervals', interval]),
      '-show_entries',
      'packet=pts_time,dts_time,duration_time',
      '-of',
      'compact=print_section=0',
      '-i',
      source,
    ],
  };
}

/** One line of `packetTimesCommand`, in seconds; null when it has no time at all. */
export function parsePacketTime(line: string): { timeSec: number; durationSec: number } | null {
  const fields = new Map(line.split('|').map((field) => field.split('=') as [string, string | undefined]));
  const number = (name: string) => Number.parseFloat(fields.get(name) ?? '');
  const pts = number('pts_time');
  const timeSec = Number.isFinite(pts) ? pts : number('dts_time');
  if (!Number.isFinite(timeSec)) return null;
  const durationSec = number('duration_time');
  return { timeSec, durationSec: Number.isFinite(durationSec) ? durationSec : 0 };
}
