import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Metrics } from '../telemetry/metrics.ts';
import { type FailedCheck, failedChecks, type ReadinessOptions } from './readiness.ts';
import type { RouteDoc } from './route-doc.ts';

// `/healthz`, `/readyz`, `/metrics` (C25.1 to C25.5).

const plainText = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };

const docOf = (
  operationId: string,
  summary: string,
  more: RouteDoc['answers'] = {},
): { config: { doc: RouteDoc } } => ({
  config: {
    doc: {
      tag: 'System',
      operationId,
      summary,
      credential: 'none',
      answers: { 200: { description: 'Plain text.', contentType: 'text/plain' }, ...more },
      path: { check: 'The dependency, such as `database`.' },
      // `/readyz/{check}` of a check that this server does not have.
      problems: operationId === 'getReadinessOf' ? ['not_found'] : [],
    },
  },
});
const notReady = { 503: { description: '`not ready: <check>: <detail>`', contentType: 'text/plain' } };

export function addSystemRoutes(app: FastifyInstance, options: ReadinessOptions & { readonly metrics: Metrics }): void {
  const { metrics } = options;
  app.get('/healthz', docOf('getLiveness', 'Check whether the process is alive'), (_request, reply) =>
    reply.headers(plainText).send('OK'),
  );

  app.get(
    '/readyz',
    docOf('getReadiness', 'Check whether the dependencies can be reached', notReady),
    async (_request, reply) => answerWith(await failedChecks(options), reply),
  );

  // A pod is unready by what it alone can lack: a bucket or Redis that is away is away for every pod. All checks run
  // and count, so that a probe of one of them still feeds the alerts.
  app.get<{ Params: { check: string } }>(
    '/readyz/:check',
    docOf('getReadinessOf', 'Check whether one dependency can be reached', notReady),
    async ({ params }, reply) => {
      if (!Object.hasOwn(options.checks, params.check)) return reply.callNotFound();
      const failures = await failedChecks(options);
      return answerWith(
        failures.filter(({ check }) => check === params.check),
        reply,
      );
    },
  );

  app.get('/metrics', docOf('getMetrics', 'Metrics in the Prometheus text format'), async (_request, reply) => {
    const text = await metrics.registry.metrics();
    return reply.headers({ 'content-type': metrics.registry.contentType, 'cache-control': 'no-store' }).send(text);
  });
}

function answerWith(failures: readonly FailedCheck[], reply: FastifyReply): FastifyReply {
  reply.headers(plainText);
  if (failures.length === 0) return reply.send('OK');
  return reply.code(503).send(`not ready: ${failures.map(({ check, detail }) => `${check}: ${detail}`).join('; ')}`);
}
