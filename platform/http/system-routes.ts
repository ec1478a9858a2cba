import type { FastifyInstance } from 'fastify';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RouteDoc } from './route-doc.ts';

// `/healthz`, `/readyz`, `/metrics` (C4.54 to C4.58).

const readinessTimeoutMs = 2000;
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
      problems: [],
    },
  },
});
const notReady = { 503: { description: '`not ready: <check>: <detail>`', contentType: 'text/plain' } };

/** Checks by name; each rejects when its dependency cannot be reached. */
export type ReadinessChecks = Readonly<Record<string, (signal: AbortSignal) => Promise<void>>>;

interface SystemDependencies {
  readonly checks: ReadinessChecks;
  readonly metrics: Metrics;
  readonly log: Logger;
}

export function addSystemRoutes(app: FastifyInstance, { checks, metrics, log }: SystemDependencies): void {
  app.get('/healthz', docOf('getLiveness', 'Check whether the process is alive'), (_request, reply) =>
    reply.headers(plainText).send('OK'),
  );

  app.get(
    '/readyz',
    docOf('getReadiness', 'Check whether the dependencies can be reached', notReady),
    async (_request, reply) => {
      const signal = AbortSignal.timeout(readinessTimeoutMs);
      const outcomes = await Promise.all(
        Object.entries(checks).map(async ([check, run]) => ({ check, failure: await failureOf(run, signal) })),
      );
      const failures = outcomes.filter(({ failure }) => failure !== null);
      reply.headers(plainText);
      if (failures.length === 0) return reply.send('OK');
      for (const { check, failure } of failures) {
        metrics.readinessFailures.inc({ check });
        log.warn({ check, err: failure?.error }, 'readiness check failed');
      }
      return reply.code(503).send(`not ready: ${failures.map((f) => `${f.check}: ${f.failure?.detail}`).join('; ')}`);
    },
  );

  app.get('/metrics', docOf('getMetrics', 'Metrics in the Prometheus text format'), async (_request, reply) => {
    const text = await metrics.registry.metrics();
    return reply.headers({ 'content-type': metrics.registry.contentType, 'cache-control': 'no-store' }).send(text);
  });
}

/** Null when the check passed in time. `detail` is public, so it names no address and no account. */
async function failureOf(
  run: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<{ detail: string; error: unknown } | null> {
  const timedOut = Promise.withResolvers<never>();
  const onAbort = () => timedOut.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // A check that ignores its signal must not delay the response.
    await Promise.race([run(signal), timedOut.promise]);
    return null;
  } catch (error) {
    return { detail: signal.aborted ? `no answer within ${readinessTimeoutMs / 1000} s` : publicDetail(error), error };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The innermost system code (`ECONNREFUSED`, `28P01`), else the error's name. */
function publicDetail(error: unknown): string {
  const codes: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    codes.push(typeof code === 'string' && /^[\w.-]{1,64}$/.test(code) ? code : at.name);
  }
  return codes.at(-1) ?? 'failed';
}
