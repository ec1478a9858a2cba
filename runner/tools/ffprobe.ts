import type { Command } from '#platform/commands/command.ts';
import { frameArgs, sourceArgs } from './ffmpeg.ts';

/** Prints container, streams, programs and chapters of `source`, as its headers describe them, as JSON. */
export function describeCommand(program: string, source: string): Command {
  return {
    program,
    args: [
      '-v',
      'error',
      ...sourceArgs,
      '-show_format',
      '-show_streams',
      '-show_programs',
      '-show_chapters',
      '-of',
      'json',
      '-i',
      source,
    ],
  };
}

interface PacketTimes {
  readonly streamIndex: number;
  /** Seconds from the start of the file. */
  readonly fromSec: number;
  /** Null for all to the end. */
  readonly packetsMax: number | null;
}

const packetFields = 'packet=stream_index,pts_time,dts_time,duration_time,flags';
const lineArgs = ['-of', 'compact=print_section=0'] as const;

/** Prints index, times, flags and kind of side data of the packets of one stream, a line each, without decoding. */
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
      ...sourceArgs,
      '-select_streams',
      String(streamIndex),
      ...(interval === '%' ? [] : ['-read_intervals', interval]),
      '-show_entries',
      `${packetFields}:packet_side_data=side_data_type`,
      ...lineArgs,
      '-i',
      source,
    ],
  };
}

/**
 * Prints the same of the packets that seeking to `fromSec` finds, or of all from the beginning where it is null, to
 * `toSec`; both are the source's own timestamps.
 */
export function packetsAtCommand(
  program: string,
  source: string,
  { streamIndex, fromSec, toSec }: { streamIndex: number; fromSec: number | null; toSec: number },
): Command {
  const interval = `${fromSec === null ? '' : fromSec.toFixed(6)}%${toSec.toFixed(6)}`;
  const stream = ['-select_streams', String(streamIndex), '-read_intervals', interval];
  return {
    program,
    args: ['-v', 'error', ...sourceArgs, ...stream, '-show_entries', packetFields, ...lineArgs, '-i', source],
  };
}

/** Prints index, times and flags of the packets of every stream, a line each, without decoding. */
export function streamPacketsCommand(program: string, source: string): Command {
  const entries = ['-show_entries', packetFields, ...lineArgs];
  return { program, args: ['-v', 'error', ...sourceArgs, ...entries, '-i', source] };
}

/** Decodes the first frame of a stream and prints its properties and side data as JSON. */
export function firstFrameCommand(program: string, source: string, streamIndex: number): Command {
  const frame = ['-select_streams', String(streamIndex), '-read_intervals', '%+#1', '-show_frames', '-of', 'json'];
  return { program, args: ['-v', 'error', ...sourceArgs, ...frameArgs, ...frame, '-i', source] };
}

/** Decodes the first packets of a stream and prints the times that ffmpeg gives to their frames, a line each. */
export function frameTimesCommand(program: string, source: string, at: PacketSample): Command {
  const stream = ['-select_streams', String(at.streamIndex), '-read_intervals', `%+#${at.packets}`];
  const entries = ['-show_entries', 'frame=best_effort_timestamp_time', ...lineArgs];
  const input = [...sourceArgs, ...frameArgs];
  return { program, args: ['-v', 'error', ...input, ...stream, ...entries, '-i', source] };
}

interface PacketSample {
  readonly streamIndex: number;
  readonly packets: number;
}

/**
 * Decodes frames from the start of a stream and from `laterSec` on, and prints the kinds of their side data, a line
 * each.
 */
export function sideDataCommand(
  program: string,
  source: string,
  { streamIndex, laterSec, frames }: { streamIndex: number; laterSec: number; frames: number },
): Command {
  const intervals = ['-read_intervals', `%+#${frames},+${laterSec.toFixed(3)}%+#${frames}`];
  const entries = ['-show_entries', 'frame_side_data=side_data_type', ...lineArgs];
  const stream = ['-select_streams', String(streamIndex)];
  return {
    program,
    args: ['-v', 'error', ...sourceArgs, ...frameArgs, ...stream, ...intervals, ...entries, '-i', source],
  };
}

/** Decodes the key frames of a stream from several times on, and prints their sizes, a line each. */
export function keyFramesCommand(
  program: string,
  source: string,
  { streamIndex, fromSec, sampleSec }: { streamIndex: number; fromSec: readonly number[]; sampleSec: number },
): Command {
  const intervals = fromSec.map((sec) => `+${sec.toFixed(3)}%+${sampleSec}`).join(',');
  const stream = ['-select_streams', String(streamIndex), '-skip_frame', 'nokey', '-read_intervals', intervals];
  const entries = ['-show_entries', 'frame=width,height,sample_aspect_ratio', ...lineArgs];
  const input = [...sourceArgs, ...frameArgs];
  return { program, args: ['-v', 'error', ...input, ...stream, ...entries, '-i', source] };
}

/** One packet of a stream. */
export interface PacketTime {
  readonly streamIndex: number;
  /** When it is shown; when it is decoded, where that alone is known. */
  readonly timeSec: number;
  /** Whether it states when it is shown. */
  readonly isTimed: boolean;
  /** When it is decoded; null when that is not known. */
  readonly decodeSec: number | null;
  /** 0 when the packet states none. */
  readonly durationSec: number;
  /** Whether an edit list excludes the packet: it is decoded and not shown. */
  readonly isDiscarded: boolean;
  /** Whether decoding can begin at it. */
  readonly isKey: boolean;
}

/** Whether a line of `packetTimesCommand` is an encrypted packet. */
export function isEncryptedPacket(line: string): boolean {
  return line.includes('side_data_type=Encryption info');
}

/** Reads one line of the two commands; null when the packet has no time. */
export function parsePacketTime(line: string): PacketTime | null {
  const number = (name: string) => Number.parseFloat(fieldOf(line, name));
  const pts = number('pts_time');
  const dts = number('dts_time');
  const timeSec = Number.isFinite(pts) ? pts : dts;
  if (!Number.isFinite(timeSec)) return null;
  const durationSec = number('duration_time');
  return {
    streamIndex: number('stream_index'),
    timeSec,
    isTimed: Number.isFinite(pts),
    decodeSec: Number.isFinite(dts) ? dts : null,
    durationSec: Number.isFinite(durationSec) ? durationSec : 0,
    isDiscarded: fieldOf(line, 'flags').includes('D'),
    isKey: fieldOf(line, 'flags').includes('K'),
  };
}

/** A field of a line that a command of this module prints; empty where it has none. */
export function fieldOf(line: string, name: string): string {
  const at = `|${line}`.indexOf(`|${name}=`);
  if (at === -1) return '';
  const from = at + name.length + 1;
  const to = line.indexOf('|', from);
  return line.slice(from, to === -1 ? undefined : to);
}
