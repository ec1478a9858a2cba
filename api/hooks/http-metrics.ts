import type { FastifyInstance } from 'fastify';
import type { Metrics } from '#platform/telemetry/metrics.ts';

/** Counts and times every request by method, route and status (section 4). An unknown address has no route of its own. */
export function addHttpMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onResponse', async (request, reply) => {
    const labels = { method: request.method, route: routeLabel(request.routeOptions.url), status: reply.statusCode };
    metrics.httpRequests.inc(labels);
    metrics.httpDuration.observe(labels, reply.elapsedTime / 1000);
  });
}

/** `/api/jobs/:id` → `/api/jobs/{id}`, as the specification writes it. */
function routeLabel(url: string | undefined): string {
  return url === undefined ? 'unmatched' : url.replaceAll(/:(\w+)/g, '{$1}').replace('/stream/*', '/stream/{hash}/*');
}
