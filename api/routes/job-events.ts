import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { EventStreams } from '../event-streams.ts';
import { apiKeyId } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import type { JobEvent } from '../job-event.ts';
import type { JobWatcher } from '../job-watcher.ts';
import { noSuchJob } from '../missing.ts';
import { validated } from '../validated.ts';
import * as docs from './jobs.doc.ts';
import { jobEventsQuerySchema } from '../wire/job-schemas.ts';

// `GET /api/jobs/{id}/events`: a job's states as Server-Sent Events (HTML standard, section 9.2; C13.16, C13.17). An
// event is a whole Job, with `exclude=results` all but these, so a client that reconnects needs only the newest. The
// event's id is the job's version, so a client that sends `Last-Event-ID` gets only newer states.

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

interface EventRouteDependencies {
  readonly guards: Guards;
  readonly watcher: JobWatcher;
  readonly streams: EventStreams;
}

export function addJobEventRoutes(app: FastifyInstance, { guards, watcher, streams }: EventRouteDependencies): void {
  // Open streams would keep a closing server from ending.
  app.addHook('preClose', async () => watcher.stop());
  app.get(
    '/api/jobs/:id/events',
    { onRequest: guards.authenticated, exposeHeadRoute: false, config: { doc: docs.events } },
    async (request: EventsRequest, reply) => {
      streams.begin(apiKeyId(request), reply.raw);
      const { id } = request.params;
      const hasResults = validated(jobEventsQuerySchema, request.query).exclude === undefined;
      const first = await watcher.current(id, hasResults);
      if (first === null) throw noSuchJob(id);
      const knownVersion = lastEventIdOf(request);
      if (first.isFinal && first.version <= knownVersion) return reply.code(204).send();
      const isStillKnown = () => guards.isStillKnown(request);
      const events = eventsOf(first, { id, hasResults, knownVersion, watcher, isStillKnown, signal: request.signal });
      return reply.headers(headers).send(Readable.from(events, { objectMode: false }));
    },
  );
}

interface Following {
  readonly id: string;
  readonly hasResults: boolean;
  readonly knownVersion: number;
  readonly watcher: JobWatcher;
  readonly isStillKnown: () => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** Advances only as fast as the client reads: a slow client gets fewer states, and always the last one. */
async function* eventsOf(
  first: JobEvent,
  { id, hasResults, knownVersion, watcher, isStillKnown, signal }: Following,
): AsyncGenerator<string | Buffer> {
  yield `retry: ${reconnectAfterMs}\n\n`;
  if (first.version > knownVersion) yield first.bytes({ hasResults });
  let { updatedAt, isFinal } = first;
  while (!isFinal && !watcher.isStopped && !signal.aborted) {
    const changed = await watcher.next({ id, since: updatedAt, hasResults }, { timeoutMs: heartbeatMs, signal });
    // Its key was revoked meanwhile.
    if (!(await isStillKnown())) return;
    if (changed !== null) ({ updatedAt, isFinal } = changed);
    yield changed === null ? ': still here\n\n' : changed.bytes({ hasResults });
  }
}

/** 0 without a valid `Last-Event-ID`. */
function lastEventIdOf(request: FastifyRequest): number {
  const given = request.headers['last-event-id'];
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : 0;
}
