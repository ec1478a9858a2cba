import type { FastifyInstance } from 'fastify';
import type { RouteContext } from '#platform/http/server.ts';
import type { DeliveryDependencies } from './dependencies.ts';
import { MediaReader } from './media-reader.ts';
import { RememberedKeys } from './remembered-keys.ts';
import { addKeyRoutes } from './routes/key.ts';
import { addPlayerRoutes } from './routes/player.ts';
import { addStreamRoutes } from './routes/stream.ts';
import { addThumbRoutes } from './routes/thumb.ts';
import { ThumbMaker } from './thumb-maker.ts';

/** Adds the routes of the surface `delivery`: streams, content keys, images and the player page. */
export async function addDeliveryRoutes(
  app: FastifyInstance,
  dependencies: DeliveryDependencies,
  { limiter }: RouteContext,
): Promise<void> {
  const { config, metrics } = dependencies;
  const media = new MediaReader(dependencies.media, { cacheBytesMax: config.deliveryCacheBytesMax, metrics });
  addStreamRoutes(app, { media, metrics, mutableCacheControl: config.streamMutableCacheControl });
  await addKeyRoutes(app, { ...dependencies, limiter, keys: new RememberedKeys(dependencies.contentKeys) });
  addThumbRoutes(app, { ...dependencies, thumbs: new ThumbMaker(dependencies) });
  await addPlayerRoutes(app, dependencies);
}
