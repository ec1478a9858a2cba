import type { FastifyReply, FastifyRequest } from 'fastify';

// Streams, keys and images may be read by a page of any origin (Fetch standard, CORS protocol).

/** The headers of each response; `exposedHeaders` are those that a page may read. */
export function corsHeaders(exposedHeaders: string) {
  return {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': exposedHeaders,
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
  };
}

/** The headers in which players send their state by CTA-5004 when they do not put it into the query. */
export const cmcdHeaders = 'CMCD-Object, CMCD-Request, CMCD-Session, CMCD-Status';

/** Answers a preflight; the wildcard does not cover `Authorization`, so headers are named. */
export function preflightHandler(methods: string, requestHeaders: string) {
  const headers = {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': requestHeaders,
    'access-control-max-age': '86400',
  };
  return (_request: FastifyRequest, reply: FastifyReply): FastifyReply => reply.headers(headers).code(204).send();
}
