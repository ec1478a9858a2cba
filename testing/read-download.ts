import type { Download } from '#platform/storage/object-store.ts';

/** Reads a download whole; `onPiece` gets the number of pieces so far. Rejects with the reason of a failure. */
export function readDownload(download: Download, onPiece: (count: number) => void = () => {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const copies: Buffer[] = [];
    download.start({
      onPiece: (piece) => {
        copies.push(Buffer.from(piece.bytes));
        piece.release();
        onPiece(copies.length);
      },
      onEnd: () => resolve(Buffer.concat(copies)),
      onFailure: reject,
    });
  });
}
