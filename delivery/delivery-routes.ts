import type { FastifyInstance } from 'fastify';
import type { RouteContext } from '#platform/http/server.ts';
import type { DeliveryDependencies } from './dependencies.ts';
import { DataPlane } from './data-plane/data-plane.ts';
import { DeletedMedia } from './deleted-media.ts';
import { KeyAccess } from './keys/key-access.ts';
import { DeliveredBytes } from './delivered-bytes.ts';
import { PlaybackStates } from './playback-states.ts';
import { RememberedKeys } from './keys/remembered-keys.ts';
import { addKeyRoutes } from './routes/key.ts';
import { addPlayerRoutes } from './routes/player.ts';
import { addSignedStreamRoutes } from './routes/signed-stream.ts';
import { addStreamRoutes } from './routes/stream.ts';
import { streamPrefix } from './routes/stream-target.ts';
import { addThumbRoutes } from './routes/thumb.ts';
import { PlaybackFigures } from './playback/playback-figures.ts';
import { playbackWrites } from './playback/playback-writes.ts';
import { StreamQuota } from './stream-quota.ts';
import { ThumbMaker } from './images/thumb-maker.ts';
import { TicketAccess } from './tickets/ticket-access.ts';

/** Adds the routes of the surface `delivery`: streams, content keys, images and the player page. */
export async function addDeliveryRoutes(
  app: FastifyInstance,
  dependencies: DeliveryDependencies,
  { limiter, clients, fastPaths }: RouteContext,
): Promise<void> {
  const { config, metrics, media: store } = dependencies;
  const deleted = new DeletedMedia({ store: dependencies.deletedMedia, log: dependencies.log });
  const playback = new PlaybackStates({
    store: dependencies.playbacks,
    log: dependencies.log,
    hasTickets: config.streamSecrets.length > 0,
  });
  const isBarred = (url: string) => deleted.isRecent(url) || !isOpenAddress(url, playback);
  const cacheBytesMax = config.deliveryCacheBytesMax;
  const figures = config.playbackFigures ? new PlaybackFigures({ metrics }) : null;
  const bytesPerHour = config.streamBytesPerHour;
  const quota = bytesPerHour === null ? null : new StreamQuota({ bytesPerHour, clients });
  const delivered = new DeliveredBytes({ store: dependencies.delivered, log: dependencies.log });
  const reading = { store, metrics, fastPaths, clients, isBarred, cacheBytesMax };
  const plane = new DataPlane({ ...reading, figures, quota, delivered });
  if (figures !== null) addPlaybackWrites(app, { ...dependencies, figures });
  addStreamRoutes(app, { plane, deleted, playback, fastPaths, mutableCacheControl: config.streamMutableCacheControl });
  const tickets = new TicketAccess({ ...dependencies, playback, secrets: config.streamSecrets });
  addSignedStreamRoutes(app, { plane, deleted, fastPaths, tickets });
  const keys = new RememberedKeys(dependencies.contentKeys);
  const access = new KeyAccess({ ...dependencies, keys, deleted, limiter, clients });
  await addKeyRoutes(app, { plane, metrics, fastPaths, access });
  const thumbs = new ThumbMaker({
    ...dependencies,
    clients,
    recent: fastPaths.recent,
    isDeleted: (hash) => deleted.isDeleted(hash),
  });
  addThumbRoutes(app, { ...dependencies, plane, deleted, fastPaths, thumbs });
  await addPlayerRoutes(app, dependencies);
  for (const cache of [plane.media, keys, thumbs]) deleted.onDeleted((hashes) => cache.forget(hashes));
  app.addHook('onReady', async () => {
    delivered.writes.start();
    await Promise.all([deleted.start(), playback.start()]);
  });
  app.addHook(
    'onClose',
    async () => void (await Promise.all([deleted.stop(), playback.stop(), delivered.writes.stop()])),
  );
}

/** Whether an address is none of `/stream`, or of a media that is known to be open. */
function isOpenAddress(url: string, playback: PlaybackStates): boolean {
  if (!url.startsWith(streamPrefix)) return true;
  const end = url.indexOf('/', streamPrefix.length);
  return playback.isOpen(url.slice(streamPrefix.length, end < 0 ? undefined : end));
}

/** The digests of playback are written while the server runs, and what is left when it stops. */
function addPlaybackWrites(
  app: FastifyInstance,
  {
    figures,
    playbackDays: store,
    log,
  }: Pick<DeliveryDependencies, 'playbackDays' | 'log'> & { readonly figures: PlaybackFigures },
): void {
  const writes = playbackWrites({ figures, store, log });
  app.addHook('onReady', async () => writes.start());
  app.addHook('onClose', () => writes.stop());
}
