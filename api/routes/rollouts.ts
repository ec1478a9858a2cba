import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Rollout, rolloutListQuerySchema } from '#domain/rollouts/rollout.ts';
import { changeRollout, type RolloutAction, rolloutActions, unknownRollout } from '#jobs/rollouts/change-rollout.ts';
import { createRollout } from '#jobs/rollouts/create-rollout.ts';
import { planRollout } from '#jobs/rollouts/plan-rollout.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyId } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import { readJobCursor, writeJobCursor } from '../job-cursor.ts';
import { validated } from '../validated.ts';
import {
  rolloutBodySchema,
  type rolloutDetailsSchema,
  type rolloutListSchema,
  type rolloutPlanSchema,
  rolloutPlanToWire,
  rolloutToWire,
} from '../wire/rollout.ts';
import * as docs from './rollouts.doc.ts';
import { noFieldsSchema } from '../wire/job-schemas.ts';

type RolloutRequest = FastifyRequest<{ Params: { id: string } }>;

const changes = {
  pause: 'rollout paused',
  resume: 'rollout resumed',
  rollback: 'rollout rollback requested',
  cancel: 'rollout cancellation requested',
} as const satisfies Record<RolloutAction, string>;
/** The last failures of a rollout that its answer names. */
const failuresMax = 20;

/** Rollouts (docs/reference/contract.md, "Rollouts"). */
export function addRolloutRoutes(
  app: FastifyInstance,
  dependencies: ApiDependencies & { readonly guards: Guards },
): void {
  const { guards, rollouts, randomUuid, log } = dependencies;
  const onRequest = guards.authenticated;
  const detailed = async (rollout: Rollout): Promise<z.output<typeof rolloutDetailsSchema>> => ({
    ...rolloutToWire(rollout),
    failures: (await rollouts.items.failures(rollout.id, failuresMax)).map(({ hash, jobId, reason }) => ({
      hash,
      job_id: jobId,
      reason: reason ?? '',
    })),
  });

  app.post(
    '/api/rollouts',
    { onRequest: guards.limitedByRollout, config: { doc: docs.create } },
    async (request, reply) => {
      const spec = validated(rolloutBodySchema, request.body);
      const { rollout } = await createRollout(dependencies, { id: randomUuid(), spec, keyId: apiKeyId(request) });
      audit(log, request, { what: 'rollout begun', rolloutId: rollout.id });
      return reply.code(202).header('location', `/api/rollouts/${rollout.id}`).send(rolloutToWire(rollout));
    },
  );

  app.post(
    '/api/rollouts/plan',
    { onRequest: guards.limitedByRollout, config: { doc: docs.plan } },
    async (request): Promise<z.output<typeof rolloutPlanSchema>> => {
      const spec = validated(rolloutBodySchema, request.body);
      return rolloutPlanToWire(spec, await planRollout(dependencies, spec));
    },
  );

  app.get(
    '/api/rollouts',
    { onRequest, config: { doc: docs.list } },
    async (request): Promise<z.output<typeof rolloutListSchema>> => {
      const { limit, cursor } = validated(rolloutListQuerySchema, request.query);
      // One more than is shown: it exists when there is another page.
      const found = await rollouts.list({
        after: cursor === undefined ? null : readJobCursor(cursor),
        limit: limit + 1,
      });
      const last = found.length > limit ? found[limit - 1] : undefined;
      return {
        rollouts: found.slice(0, limit).map(rolloutToWire),
        next_cursor: last === undefined ? null : writeJobCursor(last),
      };
    },
  );

  app.get('/api/rollouts/:id', { onRequest, config: { doc: docs.find } }, async (request: RolloutRequest) => {
    const rollout = await rollouts.find(request.params.id);
    if (rollout === null) throw unknownRollout;
    return detailed(rollout);
  });

  for (const action of rolloutActions) {
    const config = { doc: docs.change[action] };
    app.post(`/api/rollouts/:id/${action}`, { onRequest, config }, async (request: RolloutRequest) => {
      validated(noFieldsSchema.default({}), request.body);
      const rollout = await changeRollout(rollouts, request.params.id, action);
      audit(log, request, { what: changes[action], rolloutId: rollout.id });
      return detailed(rollout);
    });
  }
}
