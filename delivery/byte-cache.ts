/** A cache in memory, bounded by bytes: what was not asked for longest goes first. */
export class ByteCache<Value> {
  readonly #bytesMax: number;
  readonly #entries = new Map<string, { value: Value; sizeBytes: number }>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // A map keeps the order of insertion, so the entry moves to the end of it.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps `value` unless it would take over an eighth of the cache, and push out everything else. */
  set(key: string, value: Value, sizeBytes: number): void {
    this.delete(key);
    if (sizeBytes > this.#bytesMax / 8) return;
    this.#entries.set(key, { value, sizeBytes });
    this.#bytes += sizeBytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.sizeBytes;
  }
}
