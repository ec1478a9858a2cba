import { ownPiece } from './blocks.ts';
import type { Download, StoredObject } from './object-store.ts';

/** A stored object that was opened as a stream, as a download. */
export function downloadOf({ info, body }: StoredObject): Download {
  return {
    info,
    start(receiver) {
      body.on('error', (error) => receiver.onFailure(error));
      body.on('end', () => receiver.onEnd());
      body.on('data', (chunk: Buffer) => receiver.onPiece(ownPiece(chunk)));
    },
    pause: () => void body.pause(),
    resume: () => void body.resume(),
    destroy() {
      body.removeAllListeners('data').removeAllListeners('end').removeAllListeners('error');
      body.on('error', () => {});
      body.destroy();
    },
  };
}
