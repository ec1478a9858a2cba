import type { FastifyInstance } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';

/** The largest body of a request: 1 MiB, far over the largest valid submission. */
const bodyBytesMax = 1024 * 1024;

/**
 * Bodies are JSON in UTF-8 and nothing else. `JSON.parse` makes `__proto__` an ordinary own field, which the strict
 * schemas refuse like any unknown one, and of a name given twice keeps the last value, which is then the one that is
 * validated and used. An empty body is left undefined: routes without a body accept it under any content type.
 */
export function addJsonBody(app: FastifyInstance): void {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: bodyBytesMax },
    (request, body, done) => {
      if (body.length === 0) return done(null, undefined);
      const encoding = request.headers['content-encoding'];
      if (encoding !== undefined && encoding !== 'identity') return done(new KnownProblem('unsupported_media_type'));
      try {
        return done(null, JSON.parse(decoder.decode(body as Buffer)));
      } catch (cause) {
        return done(new KnownProblem('invalid_json', undefined, { cause }));
      }
    },
  );
}
