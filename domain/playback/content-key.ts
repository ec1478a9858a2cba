import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { z } from 'zod';

/**
 * Stored content keys (C18.3, C18.5): an AES-256-GCM envelope whose associated data bind version, hash and KID, so that
 * an envelope moved to another row does not open.
 */

const envelopeSchema = z.object({ v: z.literal(1), kek_id: z.string(), nonce: z.string(), ciphertext: z.string() });
export type ContentKeyEnvelope = z.infer<typeof envelopeSchema>;

/** The owner of a content key: the media's hash, and the KID as 32 hex characters. */
export interface ContentKeyOwner {
  readonly hash: string;
  readonly kid: string;
}

/** A content key as the packager needs it: 16 bytes, and its KID as 32 hex characters. */
export interface ContentKey {
  readonly kid: string;
  readonly key: Buffer;
}

const tagBytes = 16;

interface KeyEncryptionKey {
  /** Its public name. */
  readonly id: string;
  readonly key: Buffer;
}

/** Key-encryption keys by their secrets, of which `ENCRYPTION_KEY` has a few: each is derived once. */
const keks = new Map<string, KeyEncryptionKey>();

function kekOf(secret: string): KeyEncryptionKey {
  const known = keks.get(secret);
  if (known !== undefined) return known;
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'content-key-encryption/v1', 32));
  const kek = { id: createHash('sha256').update(key).digest('hex').slice(0, 12), key };
  keks.set(secret, kek);
  return kek;
}

function associatedData({ hash, kid }: ContentKeyOwner): Buffer {
  return Buffer.from(JSON.stringify(['content-key', 1, hash, kid]));
}

/**
 * Wraps a content key with the first secret.
 *
 * @param secrets `ENCRYPTION_KEY`, one or more
 * @param nonce 12 random bytes, never used twice
 */
export function wrapContentKey(
  key: Buffer,
  owner: ContentKeyOwner,
  secrets: readonly string[],
  nonce: Buffer,
): ContentKeyEnvelope {
  const kek = kekOf(secrets[0] ?? '');
  const cipher = createCipheriv('aes-256-gcm', kek.key, nonce);
  cipher.setAAD(associatedData(owner));
  const ciphertext = Buffer.concat([cipher.update(key), cipher.final(), cipher.getAuthTag()]);
  return { v: 1, kek_id: kek.id, nonce: nonce.toString('base64'), ciphertext: ciphertext.toString('base64') };
}

/**
 * Unwraps a stored content key: 16 bytes.
 *
 * @throws Error when no secret opens the envelope, or it was made for another hash or KID
 */
export function unwrapContentKey(stored: unknown, owner: ContentKeyOwner, secrets: readonly string[]): Buffer {
  const envelope = envelopeSchema.parse(stored);
  const kek = secrets.map(kekOf).find(({ id }) => id === envelope.kek_id);
  if (kek === undefined) throw new Error(`no ENCRYPTION_KEY has the id ${envelope.kek_id}`);
  const bytes = Buffer.from(envelope.ciphertext, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', kek.key, Buffer.from(envelope.nonce, 'base64'), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(associatedData(owner));
  decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes));
  const key = Buffer.concat([decipher.update(bytes.subarray(0, bytes.length - tagBytes)), decipher.final()]);
  if (key.length !== 16) throw new Error('a content key is 16 bytes');
  return key;
}
