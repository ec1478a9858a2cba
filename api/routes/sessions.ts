import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { type ApiKey, digestOfKey, keyIdOf } from '#domain/keys/api-key.ts';
import { includesRight, type Right } from '#domain/keys/rights.ts';
import { sessionSecretOf } from '#domain/keys/session.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import type { SessionStore, SessionTimes } from '#platform/postgres/session-store.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyOf, sessionOf } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import type { KnownKeys, OpenSession } from '../hooks/known-keys.ts';
import { noSessionCookie, sessionCookie, sessionSecretIn } from '../hooks/session-cookie.ts';
import { validated } from '../validated.ts';
import { sessionBodySchema, sessionSchema } from '../wire/session.ts';

// Browser sessions (docs/reference/contract.md, "Keys"): a page exchanges a key for a cookie that no script reads.

const shared = { tag: 'Keys', credential: 'api_key', right: 'any', subject: 'nothing' } as const;

const docs = {
  begin: {
    ...shared,
    operationId: 'beginSession',
    summary: 'Begin or renew a browser session',
    description:
      'With `X-API-Key` it begins a session of 15 minutes and sets its cookie, which a script cannot read. With the cookie and `X-Reelwright-Session: 1` it renews that session, for a day at most in all. A session makes no API keys and no other sessions.',
    isLimited: true,
    body: { schema: sessionBodySchema, isRequired: false, example: { rights: ['read'] } },
    answers: {
      200: { description: 'The session was renewed.', schemas: [sessionSchema] },
      201: { description: 'The session has begun.', schemas: [sessionSchema] },
    },
    problems: [],
  },
  end: {
    ...shared,
    operationId: 'endSession',
    summary: 'End the browser session',
    description: 'Ends the session of the cookie, here at once and on other servers within five seconds.',
    answers: { 204: { description: 'It has ended; the cookie is taken back.' } },
    problems: ['not_found'],
  },
} as const satisfies Record<string, RouteDoc>;

interface SessionRouteDependencies extends Pick<ApiDependencies, 'log'> {
  readonly guards: Guards;
  readonly sessions: SessionStore;
  readonly knownKeys: KnownKeys;
}

/** `POST /api/sessions` and `DELETE /api/sessions`. */
export function addSessionRoutes(
  app: FastifyInstance,
  { guards, sessions, knownKeys, log }: SessionRouteDependencies,
): void {
  app.post('/api/sessions', { onRequest: guards.limitedBySession, config: { doc: docs.begin } }, (request, reply) => {
    const { rights } = validated(sessionBodySchema.default({}), request.body);
    const session = sessionOf(request);
    return session === null ? begin(request, reply, rights ?? null) : renew(request, reply, { session, rights });
  });

  async function begin(request: FastifyRequest, reply: FastifyReply, rights: readonly Right[] | null) {
    const key = requiredKey(request);
    requireRights(key, rights);
    const secret = sessionSecretOf(randomBytes);
    const sha256 = digestOfKey(secret);
    const times = await sessions.insert({ sha256, keyId: key.id, rights });
    audit(log, request, { what: 'session begun', sessionId: keyIdOf(sha256) });
    return answer(request, reply.code(201), { secret, times, key: { ...key, rights: rights ?? key.rights } });
  }

  async function renew(
    request: FastifyRequest,
    reply: FastifyReply,
    { session, rights }: { readonly session: OpenSession; readonly rights: readonly Right[] | undefined },
  ) {
    if (rights !== undefined)
      throw new KnownProblem('forbidden', 'A session begins no other one: send X-API-Key, or leave out rights.');
    const times = await sessions.renew(session.sha256);
    if (times === null) throw new KnownProblem('unauthorized', 'The session has ended.');
    return answer(request, reply, { secret: sessionSecretIn(request) ?? '', times, key: session.key });
  }

  app.delete(
    '/api/sessions',
    { onRequest: guards.authenticated, config: { doc: docs.end } },
    async (request, reply) => {
      const session = sessionOf(request);
      if (session === null)
        throw new KnownProblem(
          'not_found',
          'This request has an API key and no session; DELETE /api/keys/{id} ends a key.',
        );
      await sessions.remove(session.sha256);
      knownKeys.forget();
      audit(log, request, { what: 'session ended', sessionId: keyIdOf(session.sha256) });
      return reply.code(204).header('set-cookie', noSessionCookie(request)).send();
    },
  );
}

function requiredKey(request: FastifyRequest): ApiKey {
  const key = apiKeyOf(request);
  if (key === null) throw new Error('the guard of the route lets in no request without a key');
  return key;
}

/** @throws KnownProblem `forbidden` for a right that the key has not */
function requireRights(key: ApiKey, rights: readonly Right[] | null): void {
  const missing = rights?.find((right) => !includesRight(key.rights, right));
  if (missing !== undefined)
    throw new KnownProblem(
      'forbidden',
      `The API key ${key.name} lacks the right ${missing}; a session has none beyond.`,
    );
}

interface Held {
  readonly secret: string;
  readonly times: SessionTimes;
  readonly key: ApiKey;
}

function answer(request: FastifyRequest, reply: FastifyReply, { secret, times, key }: Held) {
  const body: z.output<typeof sessionSchema> = {
    key_id: key.id,
    key_name: key.name,
    rights: [...key.rights],
    hash_prefix: key.hashPrefix,
    expires_at: times.expiresAt.toISOString(),
    ends_at: times.endsAt.toISOString(),
  };
  const cookie = sessionCookie(request, secret, times.leftSec);
  return reply.headers({ 'set-cookie': cookie, 'cache-control': 'no-store' }).send(body);
}
