/** Memory for one part, which is filled as bytes come and emptied by its reader. */
export class PartBuffer {
  readonly #memory: Buffer;
  #length = 0;

  constructor(sizeBytes: number) {
    this.#memory = Buffer.allocUnsafeSlow(sizeBytes);
  }

  /** Takes as many bytes as there is space for; returns the rest. */
  fill(piece: Buffer): Buffer {
    const taken = piece.copy(this.#memory, this.#length);
    this.#length += taken;
    return piece.subarray(taken);
  }

  get isFull(): boolean {
    return this.#length === this.#memory.length;
  }

  get length(): number {
    return this.#length;
  }

  /** The content; valid until the next `fill`. */
  content(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }
}
