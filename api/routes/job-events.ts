import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ShownJob } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import type { JobWatcher } from '../job-watcher.ts';
import { jobToWire } from '../wire/job.ts';
import { findJob } from './jobs.ts';
import * as docs from './jobs.doc.ts';

// `GET /api/jobs/{id}/events`: a job's states as Server-Sent Events (HTML standard, section 9.2; C13.16, C13.17). An
// event is a whole Job, so a client that reconnects needs only the newest. The event's id is the job's version, so a
// client that sends `Last-Event-ID` gets only newer states.

/** Shorter than the minute after which proxies close an idle connection. */
const heartbeatMs = 15_000;
const reconnectAfterMs = 2000;
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Asks nginx not to buffer the events.
  'x-accel-buffering': 'no',
};

type EventsRequest = FastifyRequest<{ Params: { id: string } }>;

export function addJobEventRoutes(
  app: FastifyInstance,
  { jobs, guards, watcher }: Pick<ApiDependencies, 'jobs'> & { readonly guards: Guards; readonly watcher: JobWatcher },
): void {
  // Open streams would keep a closing server from ending.
  app.addHook('preClose', async () => watcher.stop());
  app.get(
    '/api/jobs/:id/events',
    { onRequest: guards.authenticated, exposeHeadRoute: false, config: { doc: docs.events } },
    async (request: EventsRequest, reply) => {
      const job = await findJob({ jobs }, request.params.id);
      const knownVersion = lastEventIdOf(request);
      if (isFinal(job.status) && versionOf(job) <= knownVersion) return reply.code(204).send();
      const events = eventsOf(job, { knownVersion, watcher, signal: request.signal });
      return reply.headers(headers).send(Readable.from(events, { objectMode: false }));
    },
  );
}

/** Advances only as fast as the client reads: a slow client gets fewer states, and always the last one. */
async function* eventsOf(
  first: ShownJob,
  { knownVersion, watcher, signal }: { knownVersion: number; watcher: JobWatcher; signal: AbortSignal },
): AsyncGenerator<string> {
  yield `retry: ${reconnectAfterMs}\n\n`;
  let job = first;
  if (versionOf(job) > knownVersion) yield eventOf(job);
  while (!isFinal(job.status) && !watcher.isStopped && !signal.aborted) {
    const changed = await watcher.next(job.id, job.updatedAt, { timeoutMs: heartbeatMs, signal });
    if (changed !== null) job = changed;
    yield changed === null ? ': still here\n\n' : eventOf(changed);
  }
}

function eventOf(job: ShownJob): string {
  return `id: ${versionOf(job)}\nevent: job\ndata: ${JSON.stringify(jobToWire(job))}\n\n`;
}

/** Grows with every change that a caller can see (the trigger on `jobs`). */
function versionOf(job: ShownJob): number {
  return job.updatedAt.getTime();
}

/** 0 without a valid `Last-Event-ID`. */
function lastEventIdOf(request: FastifyRequest): number {
  const given = request.headers['last-event-id'];
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : 0;
}
