import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';

const text = z.string().optional();
const integer = z.int().optional().catch(undefined);

const sideDataSchema = z.object({
  side_data_type: text,
  displaymatrix: text.catch(undefined),
  /** Degrees counterclockwise. */
  rotation: z.number().optional().catch(undefined),
  dv_profile: integer,
  dv_bl_signal_compatibility_id: integer,
});

const streamSchema = z.object({
  index: z.int(),
  codec_type: text,
  codec_name: text,
  codec_tag_string: text,
  width: integer,
  height: integer,
  sample_aspect_ratio: text,
  pix_fmt: text,
  field_order: text,
  color_range: text,
  color_space: text,
  color_transfer: text,
  color_primaries: text,
  avg_frame_rate: text,
  r_frame_rate: text,
  start_time: text,
  duration: text,
  channels: integer,
  channel_layout: text,
  sample_rate: text,
  disposition: z.record(z.string(), z.number()).default({}),
  tags: z.record(z.string(), z.string()).default({}),
  side_data_list: z.array(sideDataSchema).default([]),
});

const chapterSchema = z.object({
  start_time: text,
  end_time: text,
  tags: z.record(z.string(), z.string()).default({}),
});

/** A program of a transport stream: a channel. */
const programSchema = z.object({ streams: z.array(z.object({ index: z.int() })).default([]) });

const documentSchema = z.object({
  streams: z.array(streamSchema).default([]),
  programs: z.array(programSchema).default([]),
  chapters: z.array(chapterSchema).default([]),
  format: z.object({ format_name: z.string(), start_time: text, duration: text }),
});

/** One stream as ffprobe describes it. */
export type FfprobeStream = z.infer<typeof streamSchema>;

/** The output of `describeCommand`. */
export type FfprobeDocument = z.infer<typeof documentSchema>;

/** Reads ffprobe's JSON. @throws ZodError, SyntaxError */
export function parseFfprobe(json: string): FfprobeDocument {
  return documentSchema.parse(JSON.parse(json));
}

/** Sample entries of encrypted tracks (ISO/IEC 23001-7, and iTunes). */
const protectedTags = ['encv', 'enca', 'drmi', 'drms'];

/**
 * Whether a stream states that it is encrypted, so that it cannot be decoded without its key: by its sample entry, by
 * data for a decryption module (MP4), or by the id of its key (WebM). In some files only the packets state it.
 */
export function isProtected({ codec_tag_string: tag, tags, side_data_list: sideData }: FfprobeStream): boolean {
  const hasData = sideData.some(({ side_data_type: type }) => type === 'Encryption initialization data');
  return protectedTags.includes(tag ?? '') || tags['enc_key_id'] !== undefined || hasData;
}

/** The problem of a source that is encrypted. */
export function protectedProblem(): KnownProblem {
  return new KnownProblem('unsupported_media', 'The source is protected: it is encrypted and its key is not known.');
}

/** A time in seconds; null where ffprobe prints none. */
export function secondsOf(written: string | undefined): number | null {
  const value = Number(written ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

/** A length in seconds; null where ffprobe prints none, or zero, which stands for an unknown length. */
export function lengthOf(written: string | undefined): number | null {
  const value = secondsOf(written);
  return value !== null && value > 0 ? value : null;
}

/** Start and end of a stream in seconds from the start of the file; the end is null when no header states it. */
export function spanOf(stream: FfprobeStream, fileStartSec: number): { startSec: number; endSec: number | null } {
  const startSec = Math.max(0, (secondsOf(stream.start_time) ?? fileStartSec) - fileStartSec);
  const durationSec = lengthOf(stream.duration);
  if (durationSec !== null) return { startSec, endSec: startSec + durationSec };
  // Matroska has a tag in place of the duration; it states the end and not the length.
  const endSec = clockSec(stream.tags['DURATION'] ?? stream.tags['DURATION-eng']);
  return { startSec, endSec: endSec === null ? null : Math.max(0, endSec - Math.max(0, fileStartSec)) };
}

function clockSec(written: string | undefined): number | null {
  const [, hours, minutes, sec] = /^(\d{1,9}):(\d\d):(\d\d(?:\.\d+)?)/.exec(written ?? '') ?? [];
  return sec === undefined ? null : Number(hours) * 3600 + Number(minutes) * 60 + Number(sec);
}
