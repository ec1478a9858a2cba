import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import type { ContentKey } from '#domain/playback/content-key.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { decodingErrors, decrypt } from '../media.ts';
import { findBoxes } from '../mp4-boxes.ts';
import { bytesAt, keysBelow } from './object-invariants.ts';

// What holds of an encrypted stream's objects: each track says that it is encrypted, by the media's key, and each
// fragment is.

/** @param decodes also decodes each track by the key, as a player does, which takes two processes */
export async function clearObjects(
  folder: string,
  contentKey: ContentKey,
  { media, decodes }: { readonly media: ObjectStore; readonly decodes: boolean },
): Promise<string[]> {
  const tracks = Map.groupBy(
    (await keysBelow(media, folder)).filter((name) => /\/(video|audio)\/.*\.(mp4|m4s)$/.test(name)),
    (name) => posix.dirname(name),
  );
  const violations: string[] = [];
  for (const [track, names] of tracks) {
    const kind = track.includes('/video/') ? 'video' : 'audio';
    const init = await bytesAt(media, `${track}/init.mp4`);
    if (init === null) continue;
    const isEncrypted = /enc[va]/.test(init.toString('latin1')) && init.includes('cbcs');
    if (!isEncrypted) violations.push(`I9: ${track}/init.mp4 is clear`);
    else if (!init.includes(Buffer.from(contentKey.kid, 'hex')))
      violations.push(`I17: ${track}/init.mp4 names another key`);
    const segments: Buffer[] = [];
    for (const name of names.filter((it) => it.endsWith('.m4s')).toSorted(bySegment)) {
      const bytes = (await bytesAt(media, name)) ?? Buffer.alloc(0);
      segments.push(bytes);
      const fragments = findBoxes(bytes, 'moof/traf');
      const isClear = fragments.some((fragment) => findBoxes(bytes, 'senc', fragment).length === 0);
      if (fragments.length === 0 || isClear) violations.push(`I18: ${name} has clear fragments`);
    }
    if (decodes && isEncrypted && segments.length > 0) {
      const complaint = await decode(Buffer.concat([init, ...segments]), contentKey, kind);
      if (complaint !== '') violations.push(`I18: ${track} does not decode by the media's key: ${complaint}`);
    }
  }
  return violations;
}

const bySegment = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true });

/** The complaints of the packager, which decrypts, or of ffmpeg. */
async function decode(bytes: Buffer, { key, kid }: ContentKey, kind: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-decode-'));
  const [encrypted, clear] = [join(dir, 'encrypted.mp4'), join(dir, 'clear.mp4')];
  try {
    await writeFile(encrypted, bytes);
    await decrypt(encrypted, clear, { kid, key: key.toString('hex') }, kind);
    return await decodingErrors(clear);
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
