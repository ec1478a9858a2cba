import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';

/**
 * Checks that `X-API-Key` is one of `apiKeys` (C5.1; several for rotation). Every key is compared, by digest and in
 * constant time, so that neither the answer nor its time reveals which part of a key was right (C5.2).
 *
 * @returns the digest of the given key, which names the bucket of its rate limit
 * @throws KnownProblem `unauthorized`, the same for a missing and a wrong key
 */
export function checkApiKey(request: FastifyRequest, apiKeys: readonly string[]): string {
  const given = request.headers['x-api-key'];
  const digest = digestOf(typeof given === 'string' ? given : '');
  let isKnown = false;
  for (const key of apiKeys) isKnown = timingSafeEqual(digestOf(key), digest) || isKnown;
  if (!isKnown || given === undefined) throw new KnownProblem('unauthorized');
  return digest.toString('hex');
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
