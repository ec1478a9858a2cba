import { containerOf } from '#domain/media/containers.ts';
import { imageHeadBytes, imageKindOf } from '#platform/images/image-kinds.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';

/**
 * Whether a job may be able to read an object, by its first bytes: a container of videos or audio, or a kind of image
 * that is decoded. A known kind that nothing here decodes, such as a PDF, and what has no signature at all are not.
 */
export async function isReadable(objects: Pick<ObjectStore, 'readStart'>, key: string): Promise<boolean> {
  const head = await objects.readStart(key, imageHeadBytes);
  return head !== null && isReadableHead(head);
}

/** @param head the first bytes of a file, `imageHeadBytes` or all of them */
export function isReadableHead(head: Buffer): boolean {
  const image = imageKindOf(head);
  if (image !== null) return image.decoder !== null;
  return containerOf(head) !== null || isElementaryAudio(head) || hasPackets(head);
}

/** MP3 or MP2 without tags, and AAC in ADTS: the set bits of a frame, then a version and a layer that exist. */
function isElementaryAudio(head: Buffer): boolean {
  const [first = 0, second = 0] = head;
  const isAdts = (second & 0xf6) === 0xf0;
  const [version, layer] = [(second >> 3) & 3, (second >> 1) & 3];
  const isMpeg = (second & 0xe0) === 0xe0 && version !== 1 && (layer === 1 || layer === 2);
  return first === 0xff && (isAdts || isMpeg);
}

/** A transport stream that was recorded from the middle of a packet on. */
function hasPackets(head: Buffer): boolean {
  const [packetBytes, packets] = [188, 8];
  for (let at = head.indexOf(0x47); at !== -1 && at < packetBytes; at = head.indexOf(0x47, at + 1))
    if (Array.from({ length: packets }, (_, n) => head[at + n * packetBytes]).every((byte) => byte === 0x47))
      return true;
  return false;
}
