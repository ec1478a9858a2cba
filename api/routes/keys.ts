import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { digestOfKey, namedKeyOf } from '#domain/keys/api-key.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import type { KeyStore } from '#platform/postgres/key-store.ts';
import { audit } from '../audit.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import type { KnownKeys } from '../hooks/known-keys.ts';
import { validated } from '../validated.ts';
import {
  keyBodySchema,
  keyListQuerySchema,
  keyListSchema,
  keySchema,
  keyToWire,
  newKeyOf,
  newKeySchema,
} from '../wire/key.ts';

// Named API keys (docs/reference/contract.md, "Keys"): made, listed and revoked by administrators, never changed.

const shared = { tag: 'Keys', credential: 'api_key', right: 'admin', subject: 'everything' } as const;

const docs = {
  create: {
    ...shared,
    isForKeysAlone: true,
    operationId: 'createKey',
    summary: 'Make an API key',
    description: 'The answer has the key, and no later one has: the service stores its SHA-256 alone.',
    body: {
      schema: keyBodySchema,
      isRequired: true,
      example: { name: 'acme', rights: ['read', 'submit', 'upload'], hash_prefix: 'acme-', source_prefix: 'acme/' },
    },
    answers: { 201: { description: 'The key.', schemas: [newKeySchema] } },
    problems: ['conflict'],
  },
  list: {
    ...shared,
    operationId: 'listKeys',
    summary: 'List the named API keys, by name',
    description: 'Expired keys too; those of `API_KEY` are not among them.',
    query: keyListQuerySchema,
    answers: { 200: { description: 'One page.', schemas: [keyListSchema] } },
    problems: ['invalid_request'],
  },
  remove: {
    ...shared,
    operationId: 'revokeKey',
    summary: 'Revoke an API key',
    description: 'Within five seconds every server refuses it. It is not known any more, and cannot be brought back.',
    path: { id: 'The key, by its `key_id`.' },
    answers: { 200: { description: 'The key that was revoked.', schemas: [keySchema] } },
    problems: ['not_found', 'conflict', 'invalid_request'],
  },
} as const satisfies Record<string, RouteDoc>;

interface KeyRouteDependencies extends Pick<ApiDependencies, 'log'> {
  readonly guards: Guards;
  readonly keys: KeyStore;
  readonly knownKeys: KnownKeys;
}

/** `POST /api/keys`, `GET /api/keys` and `DELETE /api/keys/{id}`. */
export function addKeyRoutes(app: FastifyInstance, { guards, keys, knownKeys, log }: KeyRouteDependencies): void {
  const onRequest = guards.authenticated;

  app.post('/api/keys', { onRequest, config: { doc: docs.create } }, async (request, reply) => {
    const given = validated(keyBodySchema, request.body);
    const text = namedKeyOf(randomBytes);
    const made = await keys.insert(newKeyOf(given, digestOfKey(text)));
    if (made === null)
      throw new KnownProblem('conflict', `There is an API key ${given.name} already; revoke it first.`);
    audit(log, request, { what: 'API key made', apiKey: made });
    const answer: z.output<typeof newKeySchema> = { ...keyToWire(made), key: text };
    return reply.code(201).header('cache-control', 'no-store').send(answer);
  });

  app.get(
    '/api/keys',
    { onRequest, config: { doc: docs.list } },
    async (request): Promise<z.output<typeof keyListSchema>> => {
      const { limit, cursor } = validated(keyListQuerySchema, request.query);
      const [after] = cursor === undefined ? [''] : readCursor(z.tuple([z.string()]), cursor);
      // One more than is shown: it exists when there is another page.
      const found = await keys.list({ after, limit: limit + 1 });
      const last = found.length > limit ? found[limit - 1] : undefined;
      return {
        keys: found.slice(0, limit).map(keyToWire),
        next_cursor: last === undefined ? null : writeCursor([last.name]),
      };
    },
  );

  app.delete<{ Params: { id: string } }>(
    '/api/keys/:id',
    { onRequest, config: { doc: docs.remove } },
    async (request): Promise<z.output<typeof keySchema>> => {
      const revoked = await keys.remove(request.params.id);
      if (revoked === null && (await keys.isOfFile(request.params.id)))
        throw new KnownProblem('conflict', 'This key is an entry of API_KEYS_FILE; take it out of the file.');
      if (revoked === null)
        throw new KnownProblem('not_found', 'There is no such API key; GET /api/keys lists those that there are.');
      knownKeys.forget();
      audit(log, request, { what: 'API key revoked', apiKey: revoked });
      return keyToWire(revoked);
    },
  );
}
