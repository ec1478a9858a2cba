import type { FastifyInstance } from 'fastify';
import type { RequestErrorCode } from '#domain/errors.ts';

// What a route says of itself, beside its handler: the OpenAPI document is made of the routes that there really are.

interface DocumentedAnswer {
  readonly description: string;
  /** Names of the shapes of a JSON answer (api/wire/schemas.ts); the body is one of them. */
  readonly schemas?: readonly string[];
  /** Of an answer that is not JSON. */
  readonly contentType?: string;
}

export interface RouteDoc {
  readonly tag: 'Jobs' | 'Callbacks' | 'Playback' | 'System';
  /** In the imperative, without a period. */
  readonly summary: string;
  readonly description?: string;
  readonly credential: 'api_key' | 'playback_token' | 'none';
  readonly isLimited?: boolean;
  /** What `{id}`, `{hash}` and `*` mean. */
  readonly path?: Readonly<Record<string, string>>;
  /** Names the schema of the query; a JSON Schema object by its generator. */
  readonly query?: 'jobList';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: { readonly name: string; readonly isRequired: boolean; readonly example?: unknown };
  readonly answers: Readonly<Record<number, DocumentedAnswer>>;
  readonly problems: readonly RequestErrorCode[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    doc?: RouteDoc;
  }
}

export interface DocumentedRoute {
  readonly method: string;
  readonly url: string;
  readonly doc: RouteDoc;
}

/** Collects the documented routes that are added to `app` from here on, in their order. */
export function collectRoutes(app: FastifyInstance): readonly DocumentedRoute[] {
  const routes: DocumentedRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const doc = config?.doc;
    if (doc === undefined) return;
    for (const name of [method].flat()) if (name !== 'HEAD') routes.push({ method: name, url, doc });
  });
  return routes;
}
