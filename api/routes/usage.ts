import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { acceptedValues } from '#domain/accepted-values.ts';
import { KnownProblem } from '#domain/errors.ts';
import { digestOfKey, keyIdOf } from '#domain/keys/api-key.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import { usageOf } from '#platform/postgres/usage-store.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyOf } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import { validated } from '../validated.ts';
import { dimensionsOf, usageQuerySchema, usageRowToWire, usageSchema, usageToCsv } from '../wire/usage.ts';

const doc: RouteDoc = {
  tag: 'Usage',
  credential: 'api_key',
  right: 'read',
  subject: 'own',
  operationId: 'getUsage',
  summary: 'Show what work came to, by day, API key, type, profile and codec',
  description:
    'Sums of the days from `from` to `to`, at most 366, told apart by what `by` names; at most 10,000 rows. What an attempt took counts on the day of its end. A key with a `hash_prefix` sees its own usage. `format=csv`, or `Accept: text/csv`, answers with CSV.',
  query: usageQuerySchema,
  answers: { 200: { description: 'The sums.', schemas: [usageSchema], contentType: 'text/csv' } },
  problems: ['invalid_request', 'busy'],
};

const dayMs = 86_400_000;
const daysMax = 366;
const daysByDefault = 30;
const rowsMax = 10_000;

type UsageRouteDependencies = Pick<ApiDependencies, 'config' | 'listDatabase' | 'clock'> & { readonly guards: Guards };

/** `GET /api/usage` (C37.5 to C37.7). */
export function addUsageRoute(
  app: FastifyInstance,
  { guards, config, listDatabase, clock }: UsageRouteDependencies,
): void {
  const configured = new Set(config.apiKeys.map((key) => keyIdOf(digestOfKey(key))));
  const nameOf = (keyId: string) => (configured.has(keyId) ? 'API_KEY' : null);
  app.get('/api/usage', { onRequest: guards.authenticated, config: { doc } }, async (request, reply) => {
    const { format, ...asked } = validated(usageQuerySchema, request.query);
    const by = dimensionsOf(asked.by);
    const { from, to } = daysOf(asked, clock());
    const key = apiKeyOf(request);
    const keyId = key === null || key.hashPrefix === null ? null : key.id;
    const found = await usageOf(listDatabase, { from, to, by, keyId, limit: rowsMax + 1 });
    if (found.length > rowsMax)
      throw refusal('/by', `comes to more than ${rowsMax} rows; ask for fewer days, or tell less apart`);
    const rows = found.map((row) => usageRowToWire(row, nameOf));
    reply.header('cache-control', 'no-store').header('vary', 'Accept');
    if (format === 'json' || (format === undefined && !wantsCsv(request.headers.accept))) {
      const answer: z.output<typeof usageSchema> = { from, to, rows };
      return reply.send(answer);
    }
    return reply
      .header('content-type', 'text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="usage-${from}-${to}.csv"`)
      .send(usageToCsv(rows, by));
  });
}

function daysOf(asked: { from?: string | undefined; to?: string | undefined }, now: Date) {
  const to = asked.to ?? dayOf(now.getTime());
  const from = asked.from ?? dayOf(Date.parse(to) - (daysByDefault - 1) * dayMs);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days < 1) throw refusal('/from', `must not be after to, ${to}`);
  if (days > daysMax) throw refusal('/from', `must be at most ${daysMax - 1} days before to, ${to}`);
  return { from, to };
}

function refusal(pointer: string, detail: string): KnownProblem {
  return new KnownProblem('invalid_request', undefined, { faults: [{ pointer, code: 'invalid', detail }] });
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const wantsCsv = (accept = '') => acceptedValues(accept)[0]?.name === 'text/csv';
