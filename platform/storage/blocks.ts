/** What is read from a socket at once: each piece costs as much as its sending, and what a slow client holds is two. */
const blockBytes = 512 * 1024;
/** Blocks that wait to be used again: 32 MiB. The rest goes back to the system. */
const spareBlocksMax = 64;

/**
 * Bytes in memory that is used again once nobody holds it. Who is handed a piece holds it once; each `retain` needs
 * another `release`, and after the last one its bytes are no longer its own.
 */
export interface Piece {
  readonly bytes: Buffer;
  /** The block that it lies in, which several pieces may share: what it keeps from being used again. */
  readonly block: { readonly sizeBytes: number };
  retain(): void;
  release(): void;
}

/** Large pieces of memory, the one given back last first: that one is still in the processor's cache. */
export class BlockPool {
  readonly #spare: Buffer[] = [];

  take(): Block {
    return new Block(this.#spare.pop() ?? Buffer.allocUnsafeSlow(blockBytes), this);
  }

  giveBack(memory: Buffer): void {
    if (this.#spare.length < spareBlocksMax) this.#spare.push(memory);
  }
}

/** Memory that is filled from its beginning and handed on in pieces. Its filler holds it once. */
export class Block {
  readonly #memory: Buffer;
  readonly #pool: BlockPool;
  #holders = 1;
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

  /** What is still to be filled. */
  get room(): Buffer {
    return this.#memory.subarray(this.#filledBytes);
  }

  /** Told by who wrote `count` bytes at the beginning of `room`. */
  fill(count: number): void {
    this.#filledBytes += count;
  }

  /** What was filled since the last piece; null when that is nothing. */
  handOn(): Piece | null {
    if (this.#filledBytes === this.#handedBytes) return null;
    const bytes = this.#memory.subarray(this.#handedBytes, this.#filledBytes);
    this.#handedBytes = this.#filledBytes;
    this.retain();
    return new BlockPiece(bytes, this);
  }

  retain(): void {
    this.#holders += 1;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders === 0) this.#pool.giveBack(this.#memory);
    if (this.#holders < 0) throw new Error('a block was released more often than it was held');
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

/** A piece of memory that is nobody else's and is never used again. */
export function ownPiece(bytes: Buffer): Piece {
  return { bytes, block: { sizeBytes: bytes.length }, retain: () => {}, release: () => {} };
}
