import { digestsKey, parseDigestLine, revisionFolderOf } from '#domain/work/object-digests.ts';
import { isTopMaster, objectKeyBytesMax } from '#domain/media/object-keys.ts';
import type { ByteRange, ObjectInfo, ObjectStore } from '#platform/storage/object-store.ts';
import { sha256Of } from '../uploads/digest.ts';

/** An object of a listing; `sha256` in hex, null where it was not recorded. */
export type DigestedObject = ObjectInfo & { readonly sha256: string | null };
type DigestStore = Pick<ObjectStore, 'get' | 'head' | 'download'>;

/**
 * Adds digests to a listing. It is in the order of keys, as `SHA256SUMS` is, so each document is read once and beside
 * it: a revision of any size takes no memory. The documents themselves and top masters, which are in none, are read.
 * Null: cached thumbnails, working objects, and what a version made that recorded no digests.
 *
 * @param after the key after which the listing begins: the document of its folder is searched for it
 * @throws KnownProblem `storage_error`
 */
export async function* withDigests(
  media: DigestStore,
  objects: AsyncIterable<ObjectInfo>,
  after = '',
): AsyncGenerator<DigestedObject> {
  let folder: string | null = null;
  let digests: FolderDigests | null = null;
  try {
    for await (const info of objects) {
      const folderOfObject = revisionFolderOf(info.key);
      if (folderOfObject !== folder) {
        digests?.close();
        folder = folderOfObject;
        digests = folder === null ? null : new FolderDigests(media, folder, after);
      }
      const isInNone = isTopMaster(info.key) || (folder !== null && info.key === digestsKey(folder));
      yield { ...info, sha256: isInNone ? await sha256Of(media, info) : ((await digests?.find(info.key)) ?? null) };
    }
  } finally {
    digests?.close();
  }
}

/** The digests of a revision's folder, for keys that come in their order. */
class FolderDigests {
  readonly #folder: string;
  readonly #lines: AsyncGenerator<string>;
  /** The line that was read last; null at the end. */
  #at: { readonly name: string; readonly sha256: string } | null = { name: '', sha256: '' };

  constructor(media: DigestStore, folder: string, after: string) {
    this.#folder = folder;
    this.#lines = linesAfter(media, digestsKey(folder), after.startsWith(folder) ? after.slice(folder.length) : '');
  }

  async find(key: string): Promise<string | null> {
    const name = key.slice(this.#folder.length);
    while (this.#at !== null && this.#at.name < name) {
      const { value } = await this.#lines.next();
      this.#at = value === undefined ? null : parseDigestLine(value as string);
    }
    return this.#at?.name === name ? this.#at.sha256 : null;
  }

  close(): void {
    void this.#lines.return(undefined).catch(() => undefined);
  }
}

/** A digest, two spaces and a name. */
const lineLengthMax = 64 + 2 + objectKeyBytesMax;
/** As long as a listing of the largest revision may take, beside which it is read. */
const readTimeoutMs = 5 * 60_000;

/** A document is searched until so many bytes are left, which are read; two lines fit. */
const searchedBytes = 64 * 1024;

/** The lines of names after `name`, and some before it; all of them without a name. */
async function* linesAfter(media: DigestStore, key: string, name: string): AsyncGenerator<string, undefined> {
  const info = name === '' ? null : await media.head(key);
  let [start, end] = [0, info?.sizeBytes ?? 0];
  while (end - start > searchedBytes) {
    const middle = Math.floor((start + end) / 2);
    const { value } = await linesFrom(media, key, { start: middle, end: middle + 2 * lineLengthMax }).next();
    const line = value === undefined ? null : parseDigestLine(value);
    if (line !== null && line.name <= name) start = middle;
    else end = middle;
  }
  yield* linesFrom(media, key, { start });
}

/** The whole lines of a part of a document; of one that begins within it, what may be the end of a line is left out. */
async function* linesFrom(media: DigestStore, key: string, range: ByteRange): AsyncGenerator<string, undefined> {
  const isWhole = range.start === 0;
  const signal = AbortSignal.timeout(readTimeoutMs);
  const object = await media.get(key, isWhole ? { signal } : { range, signal });
  if (object === null) return;
  let rest = '';
  let isFirst = !isWhole;
  for await (const text of object.body.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (isFirst && lines.length > 0) {
      lines.shift();
      isFirst = false;
    }
    yield* lines;
    if (rest.length > lineLengthMax) return;
  }
}
