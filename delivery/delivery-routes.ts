import type { FastifyInstance } from 'fastify';
import type { RouteContext } from '#platform/http/server.ts';
import type { DeliveryDependencies } from './dependencies.ts';
import { DataPlane } from './data-plane/data-plane.ts';
import { KeyAccess } from './keys/key-access.ts';
import { RememberedKeys } from './keys/remembered-keys.ts';
import { addKeyRoutes } from './routes/key.ts';
import { addPlayerRoutes } from './routes/player.ts';
import { addStreamRoutes } from './routes/stream.ts';
import { addThumbRoutes } from './routes/thumb.ts';
import { ThumbMaker } from './images/thumb-maker.ts';

/** Adds the routes of the surface `delivery`: streams, content keys, images and the player page. */
export async function addDeliveryRoutes(
  app: FastifyInstance,
  dependencies: DeliveryDependencies,
  { limiter, clients, fastPaths }: RouteContext,
): Promise<void> {
  const { config, metrics, media: store } = dependencies;
  const plane = new DataPlane({ store, metrics, fastPaths, clients, cacheBytesMax: config.deliveryCacheBytesMax });
  addStreamRoutes(app, { plane, mutableCacheControl: config.streamMutableCacheControl });
  const keys = new RememberedKeys(dependencies.contentKeys);
  await addKeyRoutes(app, { plane, metrics, access: new KeyAccess({ ...dependencies, keys, limiter, clients }) });
  addThumbRoutes(app, { ...dependencies, plane, thumbs: new ThumbMaker({ ...dependencies, clients }) });
  await addPlayerRoutes(app, dependencies);
}
