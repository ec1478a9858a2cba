import type { Command } from '#platform/commands/command.ts';
import { guardArgs } from './ffmpeg.ts';

/** How much ffprobe reads in search of streams that begin late. */
const analyseArgs = ['-probesize', '20M', '-analyzeduration', '20M'] as const;

/** Prints container and streams of `source`, as its headers describe them, as JSON. */
export function describeCommand(program: string, source: string): Command {
  return {
    program,
    args: ['-v', 'error', ...guardArgs, ...analyseArgs, '-show_format', '-show_streams', '-of', 'json', '-i', source],
  };
}

interface PacketTimes {
  readonly streamIndex: number;
  /** Seconds from the start of the file. */
  readonly fromSec: number;
  /** Null for all to the end. */
  readonly packetsMax: number | null;
}

/** Prints presentation time, decoding time and duration of packets, a line each, without decoding. */
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
      ...analyseArgs,
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

/** Reads one line of `packetTimesCommand`, in seconds; null when the packet has no time. */
export function parsePacketTime(line: string): { timeSec: number; durationSec: number } | null {
  const fields = new Map(line.split('|').map((field) => field.split('=') as [string, string | undefined]));
  const number = (name: string) => Number.parseFloat(fields.get(name) ?? '');
  const pts = number('pts_time');
  const timeSec = Number.isFinite(pts) ? pts : number('dts_time');
  if (!Number.isFinite(timeSec)) return null;
  const durationSec = number('duration_time');
  return { timeSec, durationSec: Number.isFinite(durationSec) ? durationSec : 0 };
}
