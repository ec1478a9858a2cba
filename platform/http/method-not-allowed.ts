import type { FastifyInstance } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';

/** The methods of the HTTP standards: RFC 9110, PATCH and QUERY. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];

/**
 * Answers 405 with `Allow` where an address has routes but not of this method. Called before the routes are added; the
 * function that it returns, after.
 */
export function watchMethods(app: FastifyInstance): () => void {
  const known = new Map<string, Set<string>>();
  const insteadOf = new Map<string, Readonly<Record<string, string>>>();
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.doc?.insteadOf !== undefined) insteadOf.set(url, config.doc.insteadOf);
    const found = known.get(url) ?? new Set();
    for (const name of [method].flat()) found.add(name);
    known.set(url, found);
  });
  return () => {
    for (const [url, found] of known) {
      const allow = [...found].toSorted().join(', ');
      app.route({
        method: methods.filter((method) => !found.has(method)),
        url,
        exposeHeadRoute: false,
        onRequest: async ({ method }, reply) => {
          reply.header('allow', allow);
          const advice = insteadOf.get(url)?.[method];
          const more = advice === undefined ? '' : ` ${advice}`;
          throw new KnownProblem('method_not_allowed', `This address answers ${allow}.${more}`);
        },
        handler: async () => {},
      });
    }
  };
}
