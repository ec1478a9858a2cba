import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import type { JobWatcher } from '../job-watcher.ts';
import { jobToWire } from '../wire/job.ts';
import { findJob } from './jobs.ts';
import * as docs from './jobs.doc.ts';

// `GET /api/jobs/{id}/events`: a job's states as Server-Sent Events (HTML standard, section 9.2). An event is a whole
// Job, so a client that was away misses nothing that matters; its id is the job's version, so one that comes back with
// `Last-Event-ID` is told only what is newer.

/** Shorter than the minute after which proxies give an idle connection up. */
const heartbeatMs = 15_000;
const reconnectAfterMs = 2000;
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Asks nginx not to hold events back.
  'x-accel-buffering': 'no',
};

type EventsRequest = FastifyRequest<{ Params: { id: string } }>;

export function addJobEventRoutes(
  app: FastifyInstance,
  d: Pick<ApiDependencies, 'jobs'> & { readonly guards: Guards; readonly watcher: JobWatcher },
): void {
  // Streams would hold a closing server open.
  app.addHook('preClose', async () => d.watcher.stop());
  app.get(
    '/api/jobs/:id/events',
    { onRequest: d.guards.authenticated, exposeHeadRoute: false, config: { doc: docs.events } },
    async (request: EventsRequest, reply) => {
      const job = await findJob(d, request.params.id);
      const seenMs = lastEventIdOf(request);
      if (isFinal(job.status) && versionOf(job) <= seenMs) return reply.code(204).send();
      const events = eventsOf(job, { seenMs, watcher: d.watcher, signal: request.signal });
      return reply.headers(headers).send(Readable.from(events, { objectMode: false }));
    },
  );
}

/** Advances only as fast as the client reads: a slow one is told fewer states, and the last one in any case. */
async function* eventsOf(
  first: Job,
  { seenMs, watcher, signal }: { seenMs: number; watcher: JobWatcher; signal: AbortSignal },
): AsyncGenerator<string> {
  yield `retry: ${reconnectAfterMs}\n\n`;
  let job = first;
  if (versionOf(job) > seenMs) yield eventOf(job);
  while (!isFinal(job.status) && !watcher.isStopped && !signal.aborted) {
    const changed = await watcher.next(job.id, job.updatedAt, { timeoutMs: heartbeatMs, signal });
    if (changed !== null) job = changed;
    yield changed === null ? ': still here\n\n' : eventOf(changed);
  }
}

function eventOf(job: Job): string {
  return `id: ${versionOf(job)}\nevent: job\ndata: ${JSON.stringify(jobToWire(job))}\n\n`;
}

/** Moves with every change that a caller can see, and never stands still (see the trigger on `jobs`). */
function versionOf(job: Job): number {
  return job.updatedAt.getTime();
}

/** An id that is none of ours means that nothing has been seen. */
function lastEventIdOf(request: FastifyRequest): number {
  const given = request.headers['last-event-id'];
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : 0;
}
