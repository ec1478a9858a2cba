import { addApiRoutes } from './api/api-routes.ts';
import type { ApiDependencies } from './api/dependencies.ts';
import { keyFileComponent } from './api/key-file.ts';
import { addDeliveryRoutes } from './delivery/delivery-routes.ts';
import type { DeliveryDependencies } from './delivery/dependencies.ts';
import { probeListener } from '#platform/http/probe-listener.ts';
import { httpServerComponent, type HttpServerOptions } from '#platform/http/server.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { Config } from '#platform/config/config.ts';
import type { Database } from '#platform/postgres/database.ts';

/** The dependencies of a server of the surface `delivery` alone. */
export type DeliveryServiceDependencies = DeliveryDependencies &
  Pick<HttpServerOptions, 'windowCounter'> & {
    readonly config: HttpServerOptions['config'] & Pick<Config, 'surfaces'>;
    readonly database: Database;
    /** The readiness of the database beyond an answer. */
    readonly checkDatabase?: (signal: AbortSignal) => Promise<void>;
  };

/** The dependencies of a server with the surface `api`. */
export type ServiceDependencies = DeliveryServiceDependencies & ApiDependencies;

/** The HTTP server of a process: the routes of the surfaces that `config.surfaces` names, and its readiness checks. */
export function httpServiceOptions(dependencies: DeliveryServiceDependencies | ServiceDependencies): HttpServerOptions {
  const { config, database, windowCounter, media } = dependencies;
  const source = 'source' in dependencies ? dependencies.source : undefined;
  return {
    ...dependencies,
    checks: {
      database:
        dependencies.checkDatabase ??
        ((signal) => database.ping(signal, config.surfaces.has('api') ? 'write' : 'read')),
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

/**
 * Only a pod drains: it has others beside it. Longer than a segment, so that a player makes a request in it, and less
 * than a pod has to stop (charts/reelwright/templates/_pods.tpl).
 */
const podDrainMs = 10_000;

/**
 * The listeners of a process with the mode `server` or `all`. A pod that has jobs is unready without the database; one
 * that delivers is unready until it has reached the media bucket once. In later outages servers continue with what is
 * cached, and job routes need neither bucket nor Redis.
 */
export function serverComponents(
  dependencies: (DeliveryServiceDependencies | ServiceDependencies) & { readonly config: Pick<Config, 'probePort'> },
): readonly Component[] {
  const { config } = dependencies;
  const options = httpServiceOptions(dependencies);
  const server = httpServerComponent({ ...options, drainMs: config.probePort === 0 ? 0 : podDrainMs });
  if (config.probePort === 0) return [server];
  const required = {
    ...(config.surfaces.has('api') && { database: 'always' as const }),
    ...(config.surfaces.has('delivery') && { media_bucket: 'once' as const }),
  };
  return [server, probeListener({ ...options, config, required })];
}

/** The components that a server of the API starts once the database is migrated: the named keys of `API_KEYS_FILE`. */
export function keyFileComponents(
  dependencies: ServiceDependencies & { readonly config: Pick<Config, 'apiKeysFile'> },
): readonly Component[] {
  const { surfaces, apiKeysFile: path } = dependencies.config;
  return path === null || !surfaces.has('api') ? [] : [keyFileComponent({ ...dependencies, path })];
}
