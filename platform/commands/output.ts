/** Keeps the beginning of a stream of bytes and drops the rest. */
export class OutputHead {
  readonly #bytesMax: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  write(chunk: Buffer): void {
    const kept = chunk.subarray(0, this.#bytesMax - this.#bytes);
    if (kept.length === 0) return;
    this.#chunks.push(kept);
    this.#bytes += kept.length;
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}

/** Keeps the end of a stream of bytes. */
export class OutputTail {
  readonly #bytesMax: number;
  #bytes: Buffer = Buffer.alloc(0);
  #wasCut = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  write(chunk: Buffer): void {
    const joined = Buffer.concat([this.#bytes, chunk.subarray(-this.#bytesMax)]);
    this.#wasCut ||= this.#bytes.length + chunk.length > this.#bytesMax;
    this.#bytes = joined.subarray(-this.#bytesMax);
  }

  /**
   * The stored output without a line that lost its beginning, which may be half a secret; of one endless line, without
   * its first quarter.
   */
  text(): string {
    if (!this.#wasCut) return this.#bytes.toString('utf8');
    const newline = this.#bytes.indexOf('\n');
    const start = newline === -1 ? Math.ceil(this.#bytesMax / 4) : newline + 1;
    return this.#bytes.subarray(start).toString('utf8');
  }
}

/** The end of `text`, at most `bytesMax` bytes of UTF-8, cut between characters. */
export function tailOf(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  let start = Math.max(0, bytes.length - bytesMax);
  // The bytes of a character after its first begin with the bits 10.
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start).toString('utf8');
}
