import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/**
 * Playback Bearer tokens (C19.5): `<payload_b64>.<signature_b64>`, both base64url without padding; the signature is
 * HMAC-SHA256 with `KEY_TOKEN_SECRET` over the text of `payload_b64`.
 */

const payloadSchema = z.object({ hash: z.string(), exp: z.int() });

/** `exp` is a Unix timestamp in seconds. */
export type PlaybackTokenPayload = z.infer<typeof payloadSchema>;

/** `malformed`: signed by the secret's holder and yet no payload, no better than a forged one. */
export type TokenVerdict = 'valid' | 'invalid_signature' | 'malformed' | 'expired' | 'hash_mismatch';

function tokenSignature(payloadB64: string, secret: string): string {
  return createHmac('sha256', secret).update(payloadB64).digest('base64url');
}

/** Makes a token. An application does this for a user whom it let in; the secret never leaves servers. */
export function signPlaybackToken({ hash, exp }: PlaybackTokenPayload, secret: string): string {
  const payloadB64 = Buffer.from(JSON.stringify({ hash, exp })).toString('base64url');
  return `${payloadB64}.${tokenSignature(payloadB64, secret)}`;
}

/** Whether the signature holds, in constant time; nothing of the payload is read. */
function holds(payloadB64: string, signatureB64: string, secret: string): boolean {
  // Decoding is lenient, so the text itself is compared: one token has one spelling.
  const expected = Buffer.from(tokenSignature(payloadB64, secret));
  const given = Buffer.from(signatureB64);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Checks a token in the order of C19.7 and C19.8; the payload is parsed only after the signature is verified. */
export function verifyPlaybackToken(
  token: string,
  secret: string,
  expected: { hash: string; nowSec: number },
): TokenVerdict {
  const [payloadB64 = '', signatureB64, ...rest] = token.split('.');
  if (signatureB64 === undefined || rest.length > 0) return 'invalid_signature';
  if (!holds(payloadB64, signatureB64, secret)) return 'invalid_signature';
  const payload = parsePayload(payloadB64);
  if (payload === null) return 'malformed';
  if (payload.exp < expected.nowSec) return 'expired';
  return payload.hash === expected.hash ? 'valid' : 'hash_mismatch';
}

function parsePayload(payloadB64: string): PlaybackTokenPayload | null {
  try {
    return payloadSchema.parse(JSON.parse(Buffer.from(payloadB64, 'base64url').toString('utf8')));
  } catch {
    return null;
  }
}
