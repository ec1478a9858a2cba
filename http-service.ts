import { addApiRoutes } from './api/api-routes.ts';
import type { ApiDependencies } from './api/dependencies.ts';
import { addDeliveryRoutes } from './delivery/delivery-routes.ts';
import type { DeliveryDependencies } from './delivery/dependencies.ts';
import type { HttpServerOptions } from '#platform/http/server.ts';
import type { Config } from '#platform/config/config.ts';
import type { Database } from '#platform/postgres/database.ts';

/** What a server of the surface `delivery` alone is made of. */
export type DeliveryServiceDependencies = DeliveryDependencies &
  Pick<HttpServerOptions, 'windowCounter'> & {
    readonly config: HttpServerOptions['config'] & Pick<Config, 'surfaces'>;
    readonly database: Database;
    /** The readiness of the database beyond an answer. */
    readonly checkDatabase?: (signal: AbortSignal) => Promise<void>;
  };

/** What a server with the surface `api` is made of. */
export type ServiceDependencies = DeliveryServiceDependencies & ApiDependencies;

/** The HTTP server of a process: the routes of the surfaces that `config.surfaces` names, and its readiness checks. */
export function httpServiceOptions(dependencies: DeliveryServiceDependencies | ServiceDependencies): HttpServerOptions {
  const { config, database, windowCounter, media } = dependencies;
  const source = 'source' in dependencies ? dependencies.source : undefined;
  return {
    ...dependencies,
    checks: {
      database: dependencies.checkDatabase ?? ((signal) => database.ping(signal)),
      key_value_store: () => windowCounter.ping(),
      // A server of the surface `delivery` alone reads no sources.
      ...(source === undefined ? {} : { source_bucket: (signal: AbortSignal) => source.ping(signal) }),
      media_bucket: (signal) => media.ping(signal),
    },
    addRoutes: async (app, context) => {
      if (config.surfaces.has('api')) {
        if (!('queue' in dependencies)) throw new TypeError('the surface api needs a queue');
        await addApiRoutes(app, dependencies, context);
      }
      if (config.surfaces.has('delivery')) await addDeliveryRoutes(app, dependencies, context);
    },
  };
}
