import type { FastifyInstance } from 'fastify';
import type { RouteContext } from '#platform/http/server.ts';
import { CallbackStore } from '#platform/postgres/callback-store.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { JobQueries } from '#platform/postgres/job-queries.ts';
import { KeyStore } from '#platform/postgres/key-store.ts';
import { OwnerStore } from '#platform/postgres/owner-store.ts';
import { SessionStore } from '#platform/postgres/session-store.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import type { ApiDependencies } from './dependencies.ts';
import { apiGuards } from './hooks/guards.ts';
import { KnownKeys } from './hooks/known-keys.ts';
import { EventStreams } from './event-streams.ts';
import { JobWatcher } from './job-watcher.ts';
import { addBucketEventRoutes } from './routes/bucket-events.ts';
import { addConsoleRoutes } from './routes/console.ts';
import { addConsoleLinkRoute } from './routes/console-links.ts';
import { addBatchRoute } from './routes/batches.ts';
import { addDocsRoutes } from './routes/docs.ts';
import { addImportRoutes } from './routes/imports.ts';
import { addJobChunkRoute } from './routes/job-chunks.ts';
import { addJobTimelineRoute } from './routes/job-timeline.ts';
import { addJobEventRoutes } from './routes/job-events.ts';
import { addJobRoutes } from './routes/jobs.ts';
import { addKeyRoutes } from './routes/keys.ts';
import { addMediaPlaybackRoute } from './routes/media-playback.ts';
import { addMediaRoutes } from './routes/media.ts';
import { addUsageRoute } from './routes/usage.ts';
import { addUploadPartRoute } from './routes/upload-parts.ts';
import { addUploadRoutes } from './routes/uploads.ts';
import { addOverviewRoute } from './routes/overview.ts';
import { addPoolRoute } from './routes/pools.ts';
import { addProfileRoutes } from './routes/profiles.ts';
import { addRerunRoute } from './routes/reruns.ts';
import { addRolloutRoutes } from './routes/rollouts.ts';
import { addSessionRoutes } from './routes/sessions.ts';
import { addWebhookListRoutes, addWebhookRoutes } from './routes/webhooks.ts';

/** Adds the routes of the surface `api`: jobs, their events and webhooks, uploads, and the documents. */
export async function addApiRoutes(
  app: FastifyInstance,
  dependencies: ApiDependencies,
  { limiter, documentedRoutes, requestTime }: RouteContext,
): Promise<void> {
  const { database, log } = dependencies;
  const queries = new JobQueries(database);
  const keys = new KeyStore(database);
  const sessions = new SessionStore(database);
  const knownKeys = new KnownKeys({ apiKeys: dependencies.config.apiKeys, store: keys, sessions, log });
  const owners = new OwnerStore(database);
  const guards = apiGuards({ ...dependencies, limiter, knownKeys, owners });
  addJobRoutes(app, { ...dependencies, guards, queries, owners });
  addBatchRoute(app, { ...dependencies, guards, owners });
  addRerunRoute(app, { ...dependencies, guards });
  addJobEventRoutes(app, { guards, watcher: new JobWatcher({ queries, log }), streams: new EventStreams() });
  addJobChunkRoute(app, { ...dependencies, guards });
  addJobTimelineRoute(app, { ...dependencies, guards });
  addMediaRoutes(app, { ...dependencies, guards });
  addMediaPlaybackRoute(app, { ...dependencies, guards });
  addRolloutRoutes(app, { ...dependencies, guards });
  addProfileRoutes(app, { ...dependencies, guards });
  addPoolRoute(app, { ...dependencies, guards });
  addOverviewRoute(app, { ...dependencies, guards });
  addKeyRoutes(app, { guards, keys, knownKeys, log });
  addSessionRoutes(app, { guards, sessions, knownKeys, log });
  addUsageRoute(app, { ...dependencies, guards });
  const webhooks = new CallbackStore(database);
  addWebhookRoutes(app, { ...dependencies, guards, webhooks });
  addWebhookListRoutes(app, { ...dependencies, guards, webhooks });
  const uploads = { ...dependencies, guards, rows: new UploadStore(database), bucket: dependencies.uploads };
  addUploadRoutes(app, uploads);
  await addUploadPartRoute(app, { ...uploads, requestTime });
  addImportRoutes(app, { ...dependencies, guards, rows: new ImportStore(database) });
  await addBucketEventRoutes(app, { ...dependencies, guards });
  if (dependencies.config.console !== 'off') {
    addConsoleLinkRoute(app, { ...dependencies, guards });
    await addConsoleRoutes(app, dependencies);
  }
  await addDocsRoutes(app, { routes: documentedRoutes });
}
