import type { FastifyReply, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { type ApiKey, digestOfKey, keyIdOf } from '#domain/keys/api-key.ts';
import type { KnownKeys, OpenSession } from './known-keys.ts';
import { requireOwnPage, sessionSecretIn } from './session-cookie.ts';

/** The same for a missing and a wrong key: the answer does not say which it was. */
const advice =
  'X-API-Key is missing or is not one of the API keys of this service. Send one of them in this header; ' +
  'Authorization holds no API key.';
const endedSession = 'The session has ended. Begin another one by POST /api/sessions with X-API-Key.';

/** By what a request was let in: an API key, or a browser session of one, whose rights may be fewer. */
interface Credential {
  readonly key: ApiKey;
  /** Null for the key itself. */
  readonly session: OpenSession | null;
}

const credentials = new WeakMap<FastifyRequest, Credential>();

/**
 * Checks that `X-API-Key` is one of the API keys (C19.1), or else that the cookie is the one of a session (C35.17).
 * Keys of the configuration are all compared, by digest and in constant time; a named key and a session are found by
 * their digest, so that the time of the answer reveals nothing of them (C19.2).
 *
 * @throws KnownProblem `unauthorized`, the same for a missing and a wrong key; `busy` for a named key or a session while
 * the database is away; `forbidden` for a session that a page of another origin may have used
 */
export async function checkApiKey(request: FastifyRequest, reply: FastifyReply, known: KnownKeys): Promise<Credential> {
  const secret = sessionSecretIn(request);
  if (secret !== null) requireOwnPage(request);
  const credential = await findCredential(request, known);
  if (credential === null) {
    reply.header('www-authenticate', 'X-API-Key');
    throw new KnownProblem('unauthorized', secret === null ? advice : endedSession);
  }
  credentials.set(request, credential);
  return credential;
}

/** Finds the API key or the session of a request; null where it has none, or none that still counts. */
export async function findCredential(request: FastifyRequest, known: KnownKeys): Promise<Credential | null> {
  const secret = sessionSecretIn(request);
  if (secret === null) {
    const key = await known.find(givenKey(request));
    return key === null ? null : { key, session: null };
  }
  const session = await known.findSession(secret);
  return session === null ? null : { key: session.key, session };
}

/** The API key of a request that `checkApiKey` let in; null for one with another credential. */
export function apiKeyOf(request: FastifyRequest): ApiKey | null {
  return credentials.get(request)?.key ?? null;
}

/** The session of a request that `checkApiKey` let in; null for one with an API key. */
export function sessionOf(request: FastifyRequest): OpenSession | null {
  return credentials.get(request)?.session ?? null;
}

/** The SHA-256 of a request's API key in hex, which names the bucket of its rate limit, and of those of its sessions. */
export function apiKeyBucket(request: FastifyRequest): string {
  return (sessionOf(request)?.keySha256 ?? digestOfKey(givenKey(request))).toString('hex');
}

/** Names a request's API key in the log: the first 8 hex digits of its SHA-256, which do not reveal it. */
export function apiKeyId(request: FastifyRequest): string {
  return apiKeyOf(request)?.id ?? keyIdOf(digestOfKey(givenKey(request)));
}

/** '' for none. */
function givenKey(request: FastifyRequest): string {
  const given = request.headers['x-api-key'];
  return typeof given === 'string' ? given : '';
}
