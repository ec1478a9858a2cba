import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireChoices } from '#domain/keys/api-key.ts';
import { rerunJob } from '#jobs/submission/rerun.ts';
import { traceOf } from '#platform/http/tracing.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyOf } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import { validated } from '../validated.ts';
import { rerunToWire } from '../wire/job.ts';
import * as docs from './jobs.doc.ts';
import { rerunBodySchema } from '../wire/job-schemas.ts';

/** `POST /api/jobs/{id}/rerun` (docs/reference/contract.md, "Make again"). */
export function addRerunRoute(app: FastifyInstance, dependencies: ApiDependencies & { readonly guards: Guards }): void {
  app.post(
    '/api/jobs/:id/rerun',
    { onRequest: dependencies.guards.limited, config: { doc: docs.rerun } },
    async (request: FastifyRequest<{ Params: { id: string } }>, reply) => {
      const rerun = validated(rerunBodySchema.default({}), request.body);
      const key = apiKeyOf(request);
      if (key !== null) requireChoices(key, rerun);
      const outcome = await rerunJob(dependencies, request.params.id, {
        rerun: { ...rerun, key },
        trace: traceOf(request),
      });
      if (outcome.isNew) audit(dependencies.log, request, { what: 'job made again', jobId: outcome.job.id });
      return reply
        .code(outcome.isNew ? 202 : 200)
        .header('location', `/api/jobs/${outcome.job.id}`)
        .send(rerunToWire(outcome.job));
    },
  );
}
