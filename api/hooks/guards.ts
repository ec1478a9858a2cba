import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDependencies } from '../dependencies.ts';
import { checkApiKey } from './api-key.ts';
import { announceLimit, type RateLimit, type RateLimiter } from '#platform/http/rate-limit.ts';

type Guard = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** What stands before the handlers of job routes, run before the body is read. */
export interface Guards {
  /** Wants a valid `X-API-Key`. */
  readonly authenticated: Guard;
  /** … and spends of that key's quota: requests that fail validation count, a failed authentication does not. */
  readonly limited: Guard;
}

export function apiGuards({
  config,
  limiter,
}: Pick<ApiDependencies, 'config'> & { readonly limiter: RateLimiter }): Guards {
  const limit: RateLimit = { name: 'api', quota: config.apiRateLimitPerMinute };
  return {
    authenticated: async (request) => {
      checkApiKey(request, config.apiKeys);
    },
    limited: async (request, reply) => {
      announceLimit(limit, reply);
      await limiter.spend(limit, checkApiKey(request, config.apiKeys), reply);
    },
  };
}
