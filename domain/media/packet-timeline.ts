/** The sums over the packets of a source; times in seconds from the start of the file. */
export interface PacketTotals {
  /** Video packets, and all packets. */
  readonly frames: number;
  readonly packets: number;
  /** When the last frame begins, and when it ends by its own duration, or by the time between frames. */
  readonly lastFrameSec: number;
  readonly framesEndSec: number;
  /** The longest time between the beginnings of neighbouring frames. */
  readonly longestFrameSec: number;
  /** The end of the last audio packet; 0 without audio. */
  readonly audioEndSec: number;
  /** The longest time without any packet, to the second. */
  readonly longestGapSec: number;
}

/** A packet is not taken to last longer, whatever duration it states. */
export const packetSecMax = 30;
/**
 * Packets are stored in decoding order: a frame may be stored up to this many frames before one that is shown earlier.
 */
const reorderedFramesMax = 32;
/** Packet durations are wrong if the shortest exceeds this many of the longest frames. */
const wrongDurationRatio = 1.5;
/** Later times are counted in the last second. */
const secondsMax = 48 * 3600;

/** Adds up the packets of a source in bounded memory, in storage order. */
export class PacketTimeline {
  #frames = 0;
  #packets = 0;
  #lastFrameSec = 0;
  #framesEndSec = 0;
  #longestFrameSec = 0;
  #shortestStatedSec = Number.POSITIVE_INFINITY;
  #audioEndSec = 0;
  /** Times of the latest frames, sorted; the earliest leave once no earlier frame can follow. */
  readonly #window: number[] = [];
  #previousFrameSec: number | null = null;
  /** 1 for each second with a packet. */
  readonly #seconds = new Uint8Array(secondsMax);

  addFrame(timeSec: number, durationSec: number): void {
    this.#frames += 1;
    this.#shortestStatedSec = Math.min(this.#shortestStatedSec, durationSec);
    this.#mark(timeSec, durationSec);
    if (timeSec >= this.#lastFrameSec) {
      this.#lastFrameSec = timeSec;
      this.#framesEndSec = timeSec + durationSec;
    }
    const at = this.#window.findLastIndex((each) => each <= timeSec) + 1;
    this.#window.splice(at, 0, timeSec);
    if (this.#window.length > reorderedFramesMax) this.#shiftFrame();
  }

  addAudio(timeSec: number, durationSec: number): void {
    this.#mark(timeSec, durationSec);
    this.#audioEndSec = Math.max(this.#audioEndSec, timeSec + Math.min(durationSec, packetSecMax));
  }

  totals(): PacketTotals {
    while (this.#window.length > 0) this.#shiftFrame();
    // A header may state one duration for all frames.
    const isOwn = this.#frames === 1 || this.#shortestStatedSec <= this.#longestFrameSec * wrongDurationRatio;
    return {
      frames: this.#frames,
      packets: this.#packets,
      lastFrameSec: this.#lastFrameSec,
      framesEndSec: isOwn ? this.#framesEndSec : this.#lastFrameSec + this.#longestFrameSec,
      longestFrameSec: this.#longestFrameSec,
      audioEndSec: this.#audioEndSec,
      longestGapSec: this.#longestGap(),
    };
  }

  #shiftFrame(): void {
    const timeSec = this.#window.shift() ?? 0;
    if (this.#previousFrameSec !== null) {
      this.#longestFrameSec = Math.max(this.#longestFrameSec, timeSec - this.#previousFrameSec);
    }
    this.#previousFrameSec = timeSec;
  }

  #mark(timeSec: number, durationSec: number): void {
    this.#packets += 1;
    const first = secondOf(timeSec);
    this.#seconds.fill(1, first, secondOf(timeSec + Math.min(durationSec, packetSecMax)) + 1);
  }

  #longestGap(): number {
    const untilLast = this.#seconds.subarray(0, this.#seconds.lastIndexOf(1) + 1);
    let longest = 0;
    for (let from = untilLast.indexOf(0); from !== -1;) {
      const to = untilLast.indexOf(1, from);
      longest = Math.max(longest, to - from);
      from = untilLast.indexOf(0, to);
    }
    return longest;
  }
}

function secondOf(timeSec: number): number {
  return Math.min(secondsMax - 1, Math.max(0, Math.floor(timeSec)));
}
