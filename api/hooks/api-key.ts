import type { FastifyReply, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { type ApiKey, digestOfKey, keyIdOf } from '#domain/keys/api-key.ts';
import type { KnownKeys } from './known-keys.ts';

/** The same for a missing and a wrong key: the answer does not say which it was. */
const advice =
  'X-API-Key is missing or is not one of the API keys of this service. Send one of them in this header; ' +
  'Authorization holds no API key.';

const keys = new WeakMap<FastifyRequest, ApiKey>();

/**
 * Checks that `X-API-Key` is one of the API keys (C19.1). Those of the configuration are all compared, by digest and in
 * constant time; a named key is found by its digest, so that the time of the answer reveals nothing of it (C19.2).
 *
 * @throws KnownProblem `unauthorized`, the same for a missing and a wrong key; `busy` for a named key while the
 * database is away
 */
export async function checkApiKey(request: FastifyRequest, reply: FastifyReply, known: KnownKeys): Promise<ApiKey> {
  const key = await known.find(givenKey(request));
  if (key === null) {
    reply.header('www-authenticate', 'X-API-Key');
    throw new KnownProblem('unauthorized', advice);
  }
  keys.set(request, key);
  return key;
}

/** The API key of a request that `checkApiKey` let in; null for one with another credential. */
export function apiKeyOf(request: FastifyRequest): ApiKey | null {
  return keys.get(request) ?? null;
}

/** The SHA-256 of a request's API key in hex, which names the bucket of its rate limit. */
export function apiKeyBucket(request: FastifyRequest): string {
  return digestOfKey(givenKey(request)).toString('hex');
}

/** Names a request's API key in the log: the first 8 hex digits of its SHA-256, which do not reveal it. */
export function apiKeyId(request: FastifyRequest): string {
  return apiKeyOf(request)?.id ?? keyIdOf(digestOfKey(givenKey(request)));
}

/** '' for none. */
export function givenKey(request: FastifyRequest): string {
  const given = request.headers['x-api-key'];
  return typeof given === 'string' ? given : '';
}
