/** Read from a socket at once: each piece costs as much as its sending, and a slow client holds about two. */
const blockBytes = 512 * 1024;
/** Memory that each pool reuses. The rest goes back to the system. */
const spareBytesMax = 32 * 1024 * 1024;

/**
 * Bytes in memory that is reused. A piece comes with one reference to its block; each `retain` adds one, and after the
 * last `release` the bytes may be overwritten.
 */
export interface Piece {
  readonly bytes: Buffer;
  /** The block that contains it, which several pieces may share and which it keeps from being reused. */
  readonly block: { readonly sizeBytes: number };
  retain(): void;
  release(): void;
}

/** Large pieces of memory; the last one given back is reused first, since it is still in the processor's cache. */
export class BlockPool {
  readonly #spare: Buffer[] = [];
  readonly #blockBytes: number;

  constructor(size = blockBytes) {
    this.#blockBytes = size;
  }

  take(): Block {
    return new Block(this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#blockBytes), this);
  }

  giveBack(memory: Buffer): void {
    if (this.#spare.length < spareBytesMax / this.#blockBytes) this.#spare.push(memory);
  }
}

/** Memory that is filled from its beginning and handed on in pieces. The one who fills it has one reference. */
export class Block {
  readonly #memory: Buffer;
  readonly #pool: BlockPool;
  #references = 1;
  #filledBytes = 0;
  #handedBytes = 0;

  constructor(memory: Buffer, pool: BlockPool) {
    this.#memory = memory;
    this.#pool = pool;
  }

  get sizeBytes(): number {
    return this.#memory.length;
  }

  get isFull(): boolean {
    return this.#filledBytes === this.#memory.length;
  }

  /** The part that is still to be filled. */
  get room(): Buffer {
    return this.#memory.subarray(this.#filledBytes);
  }

  /** Called when `count` bytes were written at the beginning of `room`. */
  fill(count: number): void {
    this.#filledBytes += count;
  }

  /** The bytes filled since the last piece; null when there are none. */
  handOn(): Piece | null {
    if (this.#filledBytes === this.#handedBytes) return null;
    const bytes = this.#memory.subarray(this.#handedBytes, this.#filledBytes);
    this.#handedBytes = this.#filledBytes;
    this.retain();
    return new BlockPiece(bytes, this);
  }

  retain(): void {
    this.#references += 1;
  }

  release(): void {
    this.#references -= 1;
    if (this.#references === 0) this.#pool.giveBack(this.#memory);
    if (this.#references < 0) throw new Error('a block was released more often than it was retained');
  }
}

class BlockPiece implements Piece {
  readonly bytes: Buffer;
  readonly block: Block;

  constructor(bytes: Buffer, block: Block) {
    this.bytes = bytes;
    this.block = block;
  }

  retain(): void {
    this.block.retain();
  }

  release(): void {
    this.block.release();
  }
}

/** A piece of memory of its own, which is never reused. */
export function ownPiece(bytes: Buffer): Piece {
  return { bytes, block: { sizeBytes: bytes.length }, retain: () => {}, release: () => {} };
}
