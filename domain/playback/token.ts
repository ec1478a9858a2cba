import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/**
 * Playback Bearer tokens (C5.5): `<payload_b64>.<signature_b64>`, both base64url without padding; the signature is
 * HMAC-SHA256 with `KEY_TOKEN_SECRET` over the text of `payload_b64`.
 */

const payloadSchema = z.object({ hash: z.string(), exp: z.int() });

/** `exp` is a Unix timestamp in seconds. */
export type PlaybackTokenPayload = z.infer<typeof payloadSchema>;

export type TokenVerdict = 'valid' | 'invalid_signature' | 'expired' | 'hash_mismatch';

function signatureOf(payloadB64: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(payloadB64).digest();
}

/** Makes a token. An application does this for a user whom it let in; the secret never leaves servers. */
export function signPlaybackToken({ hash, exp }: PlaybackTokenPayload, secret: string): string {
  const payloadB64 = Buffer.from(JSON.stringify({ hash, exp })).toString('base64url');
  return `${payloadB64}.${signatureOf(payloadB64, secret).toString('base64url')}`;
}

/** Whether the signature of `token` holds, in constant time; nothing of the payload is read. */
export function hasValidSignature(token: string, secret: string): boolean {
  const [payloadB64, signatureB64, ...rest] = token.split('.');
  if (payloadB64 === undefined || signatureB64 === undefined || rest.length > 0) return false;
  // Decoding is lenient, so the text itself is compared: one token has one spelling.
  const expected = Buffer.from(signatureOf(payloadB64, secret).toString('base64url'));
  const given = Buffer.from(signatureB64);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Checks a token in the order of C5.7 and C5.8; the payload is parsed only after the signature held. */
export function verifyPlaybackToken(
  token: string,
  secret: string,
  expected: { hash: string; nowSec: number },
): TokenVerdict {
  if (!hasValidSignature(token, secret)) return 'invalid_signature';
  const payload = parsePayload(token.split('.')[0] ?? '');
  if (payload === null) return 'invalid_signature';
  if (payload.exp < expected.nowSec) return 'expired';
  return payload.hash === expected.hash ? 'valid' : 'hash_mismatch';
}

function parsePayload(payloadB64: string): PlaybackTokenPayload | null {
  try {
    return payloadSchema.parse(JSON.parse(Buffer.from(payloadB64, 'base64url').toString('utf8')));
  } catch {
    // Signed by the secret's holder and yet no payload: no better than a forged one.
    return null;
  }
}
