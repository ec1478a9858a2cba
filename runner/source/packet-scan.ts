import { KnownProblem } from '#domain/errors.ts';
import { PacketTimeline, type PacketTotals } from '#domain/media/packet-timeline.ts';
import type { StepContext } from '../context/step-context.ts';
import { type PacketTime, parsePacketTime, streamPacketsCommand } from '../tools/ffprobe.ts';
import { runTool } from '../tools/run-tool.ts';

/** Demuxing reads the whole file from a disk that may be slow. */
const scanTimeoutMs = 30 * 60_000;
/** A source of 12 hours with 60 frames a second and 8 audio tracks has 19 million. */
const packetsMax = 50_000_000;

const unreadable = { code: 'corrupt_input', message: 'The source is damaged: its packets cannot be read.' } as const;

/** Containers with broadcast timestamps, which may jump at any time; ffmpeg closes jumps of over 10 s, and back. */
const containersWithJumps = ['mpegts', 'mpeg'];
const jumpSecMin = 10;
const jumpBackSecMin = 0.1;

/** The packets of a source, and what cutting it needs to know. */
export interface PacketScan extends PacketTotals {
  /** When decoding can begin, in seconds from the start of the file, at most once a second. */
  readonly keyTimesSec: readonly number[];
  /** Whether every part of the source has the same times when it is read by itself: no jump and no edit. */
  readonly isContinuous: boolean;
  /** Frames that precede the first key frame, in the order of decoding or of display, and cannot be decoded. */
  readonly framesBeforeKey: number;
  /** When the packets of each audio stream begin and end, in seconds from the start of the file, by its index. */
  readonly audioSpans: ReadonlyMap<number, AudioSpan>;
}

export interface AudioSpan {
  readonly fromSec: number;
  readonly toSec: number;
}

const keyDistanceSecMin = 1;

interface ScannedSource {
  readonly path: string;
  readonly container: string;
  readonly startSec: number;
  readonly video: { readonly streamIndex: number } | null;
  readonly audio: readonly { readonly streamIndex: number }[];
}

/**
 * Reads the times of every video and audio packet, without decoding. Headers may state any length; the packets bound
 * the work that a source can cause.
 *
 * @throws KnownProblem `corrupt_input`, `limit_exceeded`
 */
export async function scanPackets(source: ScannedSource, context: StepContext): Promise<PacketScan> {
  const scanner = new PacketScanner(source);
  const command = streamPacketsCommand(context.program('ffprobe'), source.path);
  const onStdoutLine = (line: string) => scanner.line(line);
  const run = { timeoutMs: scanTimeoutMs, failure: unreadable, onStdoutLine, stdoutBytesMax: 0 };
  await runTool(command, run, context);
  return scanner.end();
}

/** Takes the lines of `streamPacketsCommand`. */
export class PacketScanner {
  readonly #source: Omit<ScannedSource, 'path'>;
  readonly #audio: ReadonlySet<number>;
  readonly #close: (packet: PacketTime) => number;
  readonly #timeline = new PacketTimeline();
  readonly #keyTimesSec: number[] = [];
  readonly #audioSpans = new Map<number, AudioSpan>();
  #firstKeySec: number | null = null;
  #framesBeforeKey = 0;
  #isContinuous = true;
  #packets = 0;

  constructor(source: Omit<ScannedSource, 'path'>) {
    this.#source = source;
    this.#audio = new Set(source.audio.map(({ streamIndex }) => streamIndex));
    this.#close = containersWithJumps.includes(source.container) ? jumpCloser() : ({ timeSec }) => timeSec;
  }

  /** @throws KnownProblem `limit_exceeded` */
  line(line: string): void {
    const packet = parsePacketTime(line);
    if (packet === null) return;
    const isVideo = packet.streamIndex === this.#source.video?.streamIndex;
    if (isVideo && packet.isKey) this.#firstKeySec ??= packet.timeSec;
    if (packet.isDiscarded) {
      if (isVideo) this.#isContinuous = false;
      return;
    }
    if (isVideo && packet.timeSec < (this.#firstKeySec ?? Number.POSITIVE_INFINITY)) this.#framesBeforeKey += 1;
    const closedSec = this.#close(packet);
    if (closedSec !== packet.timeSec) this.#isContinuous = false;
    const timeSec = closedSec - this.#source.startSec;
    if (isVideo) {
      this.#timeline.addFrame(timeSec, packet.durationSec);
      const isApart = timeSec - (this.#keyTimesSec.at(-1) ?? Number.NEGATIVE_INFINITY) >= keyDistanceSecMin;
      if (packet.isKey && isApart) this.#keyTimesSec.push(timeSec);
    } else if (this.#audio.has(packet.streamIndex)) {
      this.#timeline.addAudio(timeSec, packet.durationSec);
      this.#addToSpan(packet.streamIndex, { fromSec: timeSec, toSec: timeSec + packet.durationSec });
    } else return;
    this.#packets += 1;
    if (this.#packets > packetsMax)
      throw new KnownProblem('limit_exceeded', `The source has over ${packetsMax} packets.`);
  }

  #addToSpan(streamIndex: number, { fromSec, toSec }: AudioSpan): void {
    const span = this.#audioSpans.get(streamIndex) ?? { fromSec, toSec };
    const widened = { fromSec: Math.min(span.fromSec, fromSec), toSec: Math.max(span.toSec, toSec) };
    this.#audioSpans.set(streamIndex, widened);
  }

  /** @throws KnownProblem `corrupt_input` when there was no packet of the video, or of the audio without one */
  end(): PacketScan {
    const totals = this.#timeline.totals();
    if ((this.#source.video === null ? totals.packets : totals.frames) === 0)
      throw new KnownProblem(unreadable.code, unreadable.message);
    return {
      ...totals,
      keyTimesSec: this.#keyTimesSec,
      // Where none is marked, the container does not say.
      framesBeforeKey: this.#firstKeySec === null ? 0 : this.#framesBeforeKey,
      isContinuous: this.#isContinuous,
      audioSpans: this.#audioSpans,
    };
  }
}

/** Times without jumps, as ffmpeg gives them to decoders: after a jump a stream goes on where it was. */
function jumpCloser(): (packet: PacketTime) => number {
  const streams = new Map<number, { lastSec: number; offsetSec: number }>();
  return ({ streamIndex, timeSec, decodeSec, durationSec }) => {
    // Frames are stored in the order of decoding; the times at which they are shown go back all the time.
    const atSec = decodeSec ?? timeSec;
    const stream = streams.get(streamIndex) ?? { lastSec: atSec, offsetSec: 0 };
    const forthSec = atSec - stream.lastSec;
    const isBack = decodeSec !== null && forthSec < -jumpBackSecMin;
    if (isBack || Math.abs(forthSec) > jumpSecMin) stream.offsetSec += durationSec - forthSec;
    stream.lastSec = atSec;
    streams.set(streamIndex, stream);
    return timeSec + stream.offsetSec;
  };
}
