import type { FastifyRequest } from 'fastify';

/**
 * A request's route as the contract writes it, `/api/jobs/{id}`: a bounded label, whatever addresses are requested
 * (C25.14).
 */
export function routeLabel(request: FastifyRequest): string {
  const { url } = request.routeOptions;
  if (url === undefined) return 'unmatched';
  if (url.startsWith('/player')) return '/player/*';
  if (url === '/s/*') return '/s/{ticket}/{hash}/*';
  return url.replaceAll(/:(\w+)/g, '{$1}').replace('/stream/*', '/stream/{hash}/*');
}
