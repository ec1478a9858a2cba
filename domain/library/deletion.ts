import { createHash, createHmac, hkdfSync } from 'node:crypto';
import canonicalize from 'canonicalize';
import { mediaPrefix } from '../media/object-keys.ts';
import { thumbCacheFolder } from '../playback/thumb-variant.ts';

/** Who asked for a deletion: a caller, or the time of the media's expiry. */
export const deletionReasons = ['request', 'expiry'] as const;
export type DeletionReason = (typeof deletionReasons)[number];

/** The deletion of a media. Times are the database's. */
export interface MediaDeletion {
  /** UUID. */
  readonly id: string;
  readonly hash: string;
  readonly reason: DeletionReason;
  readonly requestedAt: Date;
  /** The key id of the content key that was destroyed; null without one. */
  readonly kid: string | null;
  /** The number of objects that were there; null until they were listed. */
  readonly objects: number | null;
  readonly bytes: number | null;
  /** See `ObjectListDigest`. */
  readonly objectsSha256: string | null;
  readonly objectsDeleted: number;
  /** Null while objects may be left. */
  readonly finishedAt: Date | null;
  readonly receipt: DeletionReceipt | null;
}

/** Proof of a deletion, for whoever knows `WEBHOOK_SECRET` (docs/guides/api.md, "Delete a media"). */
export interface DeletionReceipt {
  readonly v: 1;
  readonly deletion_id: string;
  readonly hash: string;
  readonly reason: DeletionReason;
  readonly requested_at: string;
  readonly finished_at: string;
  readonly objects: number;
  readonly bytes: number;
  readonly objects_sha256: string;
  readonly kid: string | null;
  /** Hex HMAC-SHA256 over the RFC 8785 canonical JSON of the other fields. */
  readonly signature: string;
}

interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly sha256: string | null;
}

/** SHA-256 over a line `<key> <size> <sha256>` for each object, in their order; `<etag>` where no digest is known. */
export class ObjectListDigest {
  readonly #digest = createHash('sha256');
  objects = 0;
  bytes = 0;

  add({ key, sizeBytes, etag, sha256 }: ListedObject): void {
    this.#digest.update(`${key} ${sizeBytes} ${sha256 ?? etag}\n`);
    this.objects += 1;
    this.bytes += sizeBytes;
  }

  /** Ends the digest; in hex. */
  end(): string {
    return this.#digest.digest('hex');
  }
}

/** The key of receipts, in hex: HKDF-SHA256 of `WEBHOOK_SECRET` with the info `receipt/v1`. */
export function receiptKey(webhookSecret: string): string {
  return Buffer.from(hkdfSync('sha256', webhookSecret, '', 'receipt/v1', 32)).toString('hex');
}

/** The receipt of a deletion whose objects were listed and removed. */
export function receiptOf(
  deletion: Pick<MediaDeletion, 'id' | 'hash' | 'reason' | 'requestedAt' | 'kid'> & {
    readonly objects: number;
    readonly bytes: number;
    readonly objectsSha256: string;
    readonly finishedAt: Date;
  },
  webhookSecret: string,
): DeletionReceipt {
  const fields = {
    v: 1 as const,
    deletion_id: deletion.id,
    hash: deletion.hash,
    reason: deletion.reason,
    requested_at: deletion.requestedAt.toISOString(),
    finished_at: deletion.finishedAt.toISOString(),
    objects: deletion.objects,
    bytes: deletion.bytes,
    objects_sha256: deletion.objectsSha256,
    kid: deletion.kid,
  };
  const signature = createHmac('sha256', receiptKey(webhookSecret))
    .update(String(canonicalize(fields)))
    .digest('hex');
  return { ...fields, signature };
}

/** The folders of the media bucket in which all objects of a media lie, but for working objects. */
export function mediaFolders(hash: string): readonly string[] {
  const below = `${mediaPrefix(hash)}/${hash}/`;
  return [`videos/${below}`, `images/${below}`, thumbCacheFolder(hash)];
}

/** The paths of a media that a CDN must purge, with everything below them; `*` stands for one segment. */
export function purgePathsOf(hash: string): readonly string[] {
  const images = mediaFolders(hash)
    .slice(0, 2)
    .map((folder) => `/thumb/*/${encodedBeginning(folder)}*`);
  return [`/stream/${hash}/*`, `/api/key/${hash}`, `/api/key/${hash}/*`, ...images, `/s/*/${hash}/*`];
}

/** The beginning of the base64url of every key in a folder, as `/thumb/{sig}/{encoded_key}` has it. */
function encodedBeginning(folder: string): string {
  const bytes = Buffer.from(folder);
  return bytes.toString('base64url').slice(0, Math.floor((bytes.length * 4) / 3));
}

/** The body that `PURGE_HOOK_URL` gets. */
export function purgeBody({
  eventId,
  hash,
  occurredAt,
}: {
  readonly eventId: string;
  readonly hash: string;
  readonly occurredAt: Date;
}): string {
  return JSON.stringify({
    event_id: eventId,
    occurred_at: occurredAt.toISOString(),
    event: 'media.purge',
    hash,
    paths: purgePathsOf(hash),
  });
}
