import { KnownProblem } from '#domain/errors.ts';
import type { BlockPool } from '../blocks.ts';
import { toStorageError } from '../errors.ts';
import type { OpenFile } from './file-info.ts';
import type { ByteRange, Download, PieceReceiver } from '../object-store.ts';

interface FileDownloadOptions {
  readonly blocks: BlockPool;
  readonly range: Required<ByteRange>;
  readonly signal: AbortSignal | undefined;
}

/** Downloads a part of an open file through reused memory; the file is closed at the end. */
export function downloadOfFile(file: OpenFile, options: FileDownloadOptions): Download {
  return new FileDownload(file, options);
}

class FileDownload implements Download {
  readonly info: Download['info'];
  readonly #handle: OpenFile['handle'];
  readonly #blocks: BlockPool;
  readonly #range: Required<ByteRange>;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => void this.#end((receiver) => receiver.onFailure(this.#signal?.reason));
  #receiver: PieceReceiver | null = null;
  #hasEnded = false;
  /** Resolved unless paused. */
  #resumed = Promise.withResolvers<void>();

  constructor({ handle, info }: OpenFile, { blocks, range, signal }: FileDownloadOptions) {
    this.info = info;
    this.#handle = handle;
    this.#blocks = blocks;
    this.#range = range;
    this.#signal = signal;
    this.#resumed.resolve();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    // It may have been aborted while the file was opened.
    if (signal?.aborted === true) this.#onAbort();
  }

  start(receiver: PieceReceiver): void {
    if (this.#hasEnded) {
      if (this.#signal?.aborted === true) receiver.onFailure(this.#signal.reason);
      return;
    }
    this.#receiver = receiver;
    this.#readAll(receiver).then(
      () => this.#end(() => receiver.onEnd()),
      (error: unknown) => this.#end(() => receiver.onFailure(toStorageError(error))),
    );
  }

  pause(): void {
    if (!this.#hasEnded) this.#resumed = Promise.withResolvers();
  }

  resume(): void {
    this.#resumed.resolve();
  }

  destroy(): void {
    void this.#end(() => undefined);
  }

  async #readAll(receiver: PieceReceiver): Promise<void> {
    const { start, end } = this.#range;
    for (let position = start; position <= end && !this.#hasEnded; await this.#resumed.promise) {
      const block = this.#blocks.take();
      try {
        const length = Math.min(block.room.length, end - position + 1);
        const { bytesRead } = await this.#handle.read(block.room, 0, length, position);
        if (bytesRead === 0) throw new KnownProblem('storage_error', 'The object was cut off.');
        block.fill(bytesRead);
        position += bytesRead;
        const piece = this.#hasEnded ? null : block.handOn();
        if (piece !== null) receiver.onPiece(piece);
      } finally {
        block.release();
      }
    }
  }

  async #end(notify: (receiver: PieceReceiver) => void): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#resumed.resolve();
    this.#signal?.removeEventListener('abort', this.#onAbort);
    // A read under way ends first.
    await this.#handle.close().catch(() => undefined);
    if (this.#receiver !== null) notify(this.#receiver);
  }
}
