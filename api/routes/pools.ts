import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { poolQueues, waitingCountedMax } from '#platform/postgres/pool-queues.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { poolListSchema, poolToWire } from '../wire/pool.ts';

const doc: RouteDoc = {
  tag: 'Jobs',
  operationId: 'listPools',
  right: 'read',
  subject: 'everything',
  summary: 'List the runner pools: what runs, what waits, and why',
  description: 'Counted from jobs. For slots and nodes, run `reelwright pools` or `kubectl get rp`.',
  credential: 'api_key',
  answers: {
    200: {
      description: 'The pools of the queues, then others that jobs ask for.',
      schemas: [poolListSchema],
    },
  },
  problems: ['busy'],
};

/** `GET /api/pools`. */
export function addPoolRoute(
  app: FastifyInstance,
  { guards, listDatabase }: Pick<ApiDependencies, 'listDatabase'> & { readonly guards: Guards },
): void {
  app.get(
    '/api/pools',
    { onRequest: guards.authenticated, config: { doc } },
    async (): Promise<z.output<typeof poolListSchema>> => {
      const pools = await poolQueues(listDatabase);
      return { pools: pools.map(poolToWire), counted_max: waitingCountedMax };
    },
  );
}
