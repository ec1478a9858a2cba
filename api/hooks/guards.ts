import type { FastifyReply, FastifyRequest } from 'fastify';
import { announceLimit, type RateLimit, type RateLimiter } from '#platform/http/rate-limit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { checkApiKey } from './api-key.ts';

type Guard = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** The checks before the handlers of job routes; they run before the body is read. */
export interface Guards {
  /** Requires a valid `X-API-Key`. */
  readonly authenticated: Guard;
  /** The same, and counts the request against the key's limit (C23.6). */
  readonly limited: Guard;
  /** The same, each against a window of its own with as many requests: submissions keep theirs whole. */
  readonly limitedByUpload: Guard;
  readonly limitedByImport: Guard;
  readonly limitedByRollout: Guard;
  /** The same, against the limit of batches. */
  readonly limitedByBatch: Guard;
  /** The same, against the limit of checks of profiles, which are made as one types. */
  readonly limitedByCheck: Guard;
  /** Counts a notification of the bucket against the limit of its sender. */
  readonly spendEvents: (sender: string, reply: FastifyReply) => Promise<void>;
}

/** Storage sends one for each object: a folder is uploaded faster than jobs are submitted by hand. */
const eventsPerSubmission = 40;

/** Two a second, each after a pause in typing. */
const checksPerMinute = 120;

export function apiGuards({
  config,
  limiter,
}: Pick<ApiDependencies, 'config'> & { readonly limiter: RateLimiter }): Guards {
  const limitedBy =
    (limit: RateLimit): Guard =>
    async (request, reply) => {
      announceLimit(limit, reply);
      await limiter.spend(limit, checkApiKey(request, reply, config.apiKeys), reply);
    };
  const quota = config.apiRateLimitPerMinute;
  return {
    authenticated: async (request, reply) => {
      checkApiKey(request, reply, config.apiKeys);
    },
    limited: limitedBy({ name: 'api', quota }),
    limitedByUpload: limitedBy({ name: 'uploads', quota }),
    limitedByImport: limitedBy({ name: 'imports', quota }),
    limitedByRollout: limitedBy({ name: 'rollouts', quota }),
    limitedByCheck: limitedBy({ name: 'profile-check', quota: checksPerMinute }),
    spendEvents: (sender, reply) =>
      limiter.spend({ name: 'events', quota: quota * eventsPerSubmission }, sender, reply),
    limitedByBatch: limitedBy({ name: 'batch', quota: config.batchRateLimitPerMinute }),
  };
}
