import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Addresses at which a client puts the parts of an upload to a folder, `/api/uploads/{id}/parts/{n}?exp=&sig=`:
 *
 * - `exp` = Unix seconds from which on the address is refused;
 * - `sig` = base64url(HMAC-SHA256(secret, `PUT /api/uploads/{id}/parts/{n}?exp={exp}`)).
 *
 * Whoever has such an address may write that part and nothing else, as with a presigned address of S3.
 */
interface PartAddress {
  readonly id: string;
  readonly number: number;
  readonly exp: number;
}

/** The secrets of the addresses: one of each API key, so that the keys can be rotated without refusing an upload. */
export function partSecretsOf(apiKeys: readonly string[]): readonly Buffer[] {
  return apiKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'uploads/v1', 32)));
}

/** The path, with its query, of a part. */
export function signPartPath(part: PartAddress, secret: Buffer): string {
  return `${partPath(part)}&sig=${partSignature(part, secret).toString('base64url')}`;
}

/** Whether `sig` is the signature of the address by one of `secrets`. Each is compared, in constant time. */
export function isPartSignature(part: PartAddress, sig: string, secrets: readonly Buffer[]): boolean {
  const given = Buffer.from(sig, 'base64url');
  let isValid = false;
  for (const secret of secrets) {
    const wanted = partSignature(part, secret);
    isValid = (given.length === wanted.length && timingSafeEqual(given, wanted)) || isValid;
  }
  return isValid;
}

function partPath({ id, number, exp }: PartAddress): string {
  return `/api/uploads/${id}/parts/${number}?exp=${exp}`;
}

function partSignature(part: PartAddress, secret: Buffer): Buffer {
  return createHmac('sha256', secret)
    .update(`PUT ${partPath(part)}`)
    .digest();
}
