import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import { readOverview } from '#platform/postgres/overview.ts';
import { poolQueues } from '#platform/postgres/pool-queues.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { overviewSchema, overviewToWire } from '../wire/overview.ts';

const doc: RouteDoc = {
  tag: 'Jobs',
  operationId: 'getOverview',
  right: 'read',
  subject: 'everything',
  summary: 'Get what the service did in the last day, and what it has',
  description: 'The answer may be some seconds old. Counts stop at `counted_max`.',
  credential: 'api_key',
  answers: { 200: { description: 'The overview.', schemas: [overviewSchema] } },
  problems: ['busy'],
};

/** One answer serves everyone who asks within this time. */
const freshMs = 5_000;

/** `GET /api/overview` (C31.21). */
export function addOverviewRoute(
  app: FastifyInstance,
  { guards, listDatabase, clock }: Pick<ApiDependencies, 'listDatabase' | 'clock'> & { readonly guards: Guards },
): void {
  const read = async (): Promise<z.output<typeof overviewSchema>> => {
    const now = clock();
    const overview = await readOverview(listDatabase);
    return overviewToWire(overview, await poolQueues(listDatabase), now);
  };
  const latest = new LRUCache<'overview', z.output<typeof overviewSchema>>({
    max: 1,
    ttl: freshMs,
    fetchMethod: read,
  });
  app.get('/api/overview', { onRequest: guards.authenticated, config: { doc } }, () => latest.fetch('overview'));
}
