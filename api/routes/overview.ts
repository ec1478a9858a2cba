import type { FastifyInstance } from 'fastify';
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
  const latest = shared(read);
  app.get('/api/overview', { onRequest: guards.authenticated, config: { doc } }, latest);
}

/** The value that `read` gives, for all callers of the time from when it is read until it is old. */
function shared<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let latest: { readonly value: Promise<Value>; readonly untilMs: number } | null = null;
  return async () => {
    if (latest !== null && performance.now() < latest.untilMs) return await latest.value;
    // Until it is read, nobody reads again.
    const value = read();
    latest = { value, untilMs: Number.POSITIVE_INFINITY };
    try {
      const found = await value;
      latest = { value, untilMs: performance.now() + freshMs };
      return found;
    } catch (error) {
      latest = null;
      throw error;
    }
  };
}
