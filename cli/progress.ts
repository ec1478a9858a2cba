// What a bar shows: a share, a rate and the time that is left.

/** `uploading [12]  99 %  99.9 MiB of 1023 MiB  99.9 MiB/s  ends in 1:02:03` has 79 characters of a terminal's 80. */
const barWidth = 10;

export function bar(share: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * barWidth);
  return `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}]`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** `1:02:03`, or `2:03`. */
export function clockTime(seconds: number): string {
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
}

/** `1.5 MiB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const value = bytes / 1024 ** power;
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

const windowMs = 10_000;

/** The rate of the last ten seconds: what an upload resumes with is not part of it. */
export class TransferRate {
  readonly #now: () => number;
  #points: { readonly at: number; readonly bytes: number }[] = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** One line of a transfer that has come so far. */
  line(sentBytes: number, totalBytes: number): string {
    const at = this.#now();
    const last = this.#points.at(-1);
    // An upload that goes on after an interruption begins to count again.
    if (last !== undefined && sentBytes < last.bytes) this.#points = [];
    this.#points.push({ at, bytes: sentBytes });
    while (this.#points.length > 2 && at - (this.#points[1]?.at ?? at) > windowMs) this.#points.shift();
    const [first] = this.#points;
    const seconds = (at - (first?.at ?? at)) / 1000;
    const rate = seconds > 0 ? (sentBytes - (first?.bytes ?? 0)) / seconds : 0;
    const pace = rate > 0 ? `  ${bytesText(rate)}/s  ends in ${clockTime((totalBytes - sentBytes) / rate)}` : '';
    const share = totalBytes === 0 ? 1 : sentBytes / totalBytes;
    const percent = String(Math.floor(share * 100)).padStart(3);
    return `${bar(share)} ${percent} %  ${bytesText(sentBytes)} of ${bytesText(totalBytes)}${pace}`;
  }
}
