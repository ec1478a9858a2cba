import { ownPiece } from './blocks.ts';
import type { Download, ObjectStore, StoredObject } from './object-store.ts';

/** The whole object as it comes, by the fastest way that `store` has. Null when there is none. */
export async function openDownload(store: ObjectStore, key: string, signal?: AbortSignal): Promise<Download | null> {
  if (store.download !== undefined) return store.download(key, signal);
  const found = await store.get(key, signal === undefined ? {} : { signal });
  return found === null ? null : downloadOf(found);
}

/** What a store opened as a stream, in pieces. */
export function downloadOf({ info, body }: StoredObject): Download {
  return {
    info,
    start(receiver) {
      // A body that is destroyed from here on fails with nothing that anybody waits for.
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
