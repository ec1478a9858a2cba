import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { RequestErrorCode } from '#domain/errors.ts';
import type { Right, Subject } from '#domain/keys/rights.ts';

// The documentation of a route, kept beside its handler: the OpenAPI document lists the routes of the running server.

/** The answers by their names in the document: `schema.register(answers, { id: 'Job' })`. */
export const answers = z.registry<{ id: string }>();
/** Likewise the bodies of requests. */
export const bodies = z.registry<{ id: string }>();

interface DocumentedAnswer {
  readonly description: string;
  /** Schemas of a JSON answer, each with a name; the body matches one of them. */
  readonly schemas?: readonly z.ZodType[];
  /** Content type of an answer that is not JSON. */
  readonly contentType?: string;
}

interface RouteText {
  /** The group of the operation in the document. */
  readonly tag: string;
  /** The name of the operation in generated clients. */
  readonly operationId: string;
  /** In the imperative, without a period. */
  readonly summary: string;
  readonly description?: string;
  readonly isLimited?: boolean;
  /** Descriptions of the path parameters. */
  readonly path?: Readonly<Record<string, string>>;
  /** The schema of the query; every parameter may be left out. */
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: {
    /** It has a name. */
    readonly schema: z.ZodType;
    readonly isRequired: boolean;
    /** By default made of the examples of the fields. */
    readonly example?: unknown;
  };
  readonly answers: Readonly<Record<number, DocumentedAnswer>>;
  readonly problems: readonly RequestErrorCode[];
  /** The advice about a method that the address does not answer, by the method. */
  readonly insteadOf?: Readonly<Record<string, string>>;
}

/** Who may call a route: the holder of an API key with this right, of a playback token, or everyone. */
type Access =
  | {
      readonly credential: 'api_key';
      /** `any`: of whatever rights. */
      readonly right: Right | 'any';
      /** Suffices for a part of the operation; what it does not suffice for the handler refuses (`requireRight`). */
      readonly partRight?: Right;
      readonly subject: Subject;
      /** Browser sessions of a key with this right may not call it. */
      readonly isForKeysAlone?: boolean;
    }
  | { readonly credential: 'playback_token' | 'none' };

export type RouteDoc = RouteText & Access;

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

/** Collects the documented routes added to `app` after this call, in order. */
export function collectRoutes(app: FastifyInstance): readonly DocumentedRoute[] {
  const routes: DocumentedRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    const doc = config?.doc;
    if (doc === undefined) return;
    for (const name of [method].flat()) if (name !== 'HEAD') routes.push({ method: name, url, doc });
  });
  return routes;
}
