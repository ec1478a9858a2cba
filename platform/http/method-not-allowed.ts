import type { FastifyInstance } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';

/** Those of the HTTP standards, RFC 9110 and the newer PATCH and QUERY. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];

/**
 * Answers 405 with `Allow` where an address has routes but none of that method. Called before the routes are added;
 * what it returns is called after.
 */
export function watchMethods(app: FastifyInstance): () => void {
  const known = new Map<string, Set<string>>();
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.addHook('onRoute', ({ url, method }) => {
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
        onRequest: async (_request, reply) => {
          reply.header('allow', allow);
          throw new KnownProblem('method_not_allowed', `This address answers ${allow}.`);
        },
        handler: async () => {},
      });
    }
  };
}
