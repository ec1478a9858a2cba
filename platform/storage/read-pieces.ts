import type { Piece } from './blocks.ts';
import type { Download } from './object-store.ts';

/** All of a small download, in pieces that the caller releases; `signal` ends it. */
export function readPieces(download: Download, signal?: AbortSignal): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const onFailure = (error: unknown) =>
      end(() => {
        for (const piece of pieces) piece.release();
        reject(error);
      });
    const onAbort = () => {
      download.destroy();
      onFailure(signal?.reason);
    };
    if (signal?.aborted === true) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    download.start({ onPiece: (piece) => pieces.push(piece), onEnd: () => end(() => resolve(pieces)), onFailure });
  });
}
