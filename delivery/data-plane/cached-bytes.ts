import type { Piece } from '#platform/storage/blocks.ts';

/** The bytes of a read that are in memory, in order: all so far, or what its slowest reader has not taken. */
export class CachedBytes {
  #pieces: { readonly piece: Piece; readonly start: number }[] = [];
  #endBytes = 0;

  /** Everything that was ever added. */
  get receivedBytes(): number {
    return this.#endBytes;
  }

  get hasBeginning(): boolean {
    return this.#endBytes === 0 || this.#pieces[0]?.start === 0;
  }

  /** The memory that they occupy. */
  get memoryBytes(): number {
    const blocks = new Set(this.#pieces.map(({ piece }) => piece.block));
    return [...blocks].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  add(piece: Piece): void {
    this.#pieces.push({ piece, start: this.#endBytes });
    this.#endBytes += piece.bytes.length;
  }

  /** At most `bytesMax` from `start` to before `end`; each piece is retained for the caller. */
  take(start: number, end: number, bytesMax: number): { bytes: Buffer; piece: Piece }[] {
    const taken: { bytes: Buffer; piece: Piece }[] = [];
    let position = start;
    const until = Math.min(end, start + bytesMax);
    for (const { piece, start: pieceStart } of this.#pieces) {
      const from = position - pieceStart;
      if (from < 0 || from >= piece.bytes.length) continue;
      if (position >= until) break;
      const bytes = piece.bytes.subarray(from, until - pieceStart);
      piece.retain();
      taken.push({ bytes, piece });
      position += bytes.length;
    }
    return taken;
  }

  /** Releases the pieces that end at `before` or earlier. */
  drop(before: number): void {
    while (this.#pieces[0] !== undefined) {
      const { piece, start } = this.#pieces[0];
      if (start + piece.bytes.length > before) return;
      this.#pieces.shift();
      piece.release();
    }
  }

  /** Moves all bytes into memory of exactly their size, out of blocks that are partly empty. */
  compact(copy: (pieces: readonly Buffer[]) => Piece): void {
    const before = this.#pieces;
    this.#pieces = [{ piece: copy(before.map(({ piece }) => piece.bytes)), start: 0 }];
    for (const { piece } of before) piece.release();
  }

  release(): void {
    this.drop(Infinity);
  }
}
