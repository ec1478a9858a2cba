import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';

/** The same for a missing and a wrong key: the answer does not say which it was. */
const advice =
  'X-API-Key is missing or is not one of the API keys of this service. Send one of them in this header; ' +
  'Authorization holds no API key.';

/**
 * Checks that `X-API-Key` is one of `apiKeys` (C19.1; several for rotation). Every key is compared, by digest and in
 * constant time, so the time of the answer reveals nothing (C19.2).
 *
 * @returns the digest of the given key, which names the bucket of its rate limit
 * @throws KnownProblem `unauthorized`, the same for a missing and a wrong key
 */
export function checkApiKey(request: FastifyRequest, reply: FastifyReply, apiKeys: readonly string[]): string {
  const given = request.headers['x-api-key'];
  const text = typeof given === 'string' ? given : '';
  if (!isOneOf(apiKeys, text) || given === undefined) {
    reply.header('www-authenticate', 'X-API-Key');
    throw new KnownProblem('unauthorized', advice);
  }
  return digestOf(text).toString('hex');
}

/** Whether `given` is one of the secrets; each is compared, by digest and in constant time. */
export function isOneOf(secrets: readonly string[], given: string): boolean {
  const digest = digestOf(given);
  let isKnown = false;
  for (const secret of secrets) isKnown = timingSafeEqual(digestOf(secret), digest) || isKnown;
  return isKnown;
}

/** Names a request's API key in the log: the first 8 hex digits of its SHA-256, which do not reveal it. */
export function apiKeyId(request: FastifyRequest): string {
  const given = request.headers['x-api-key'];
  return digestOf(typeof given === 'string' ? given : '')
    .toString('hex')
    .slice(0, 8);
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
