import type { FastifyReply, FastifyRequest } from 'fastify';
import { announceLimit, type RateLimit, type RateLimiter } from '#platform/http/rate-limit.ts';
import { KnownProblem } from '#domain/errors.ts';
import type { ApiKey } from '#domain/keys/api-key.ts';
import { includesRight, type Right } from '#domain/keys/rights.ts';
import type { OwnerStore } from '#platform/postgres/owner-store.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyBucket, apiKeyOf, checkApiKey, findCredential, sessionOf } from './api-key.ts';
import type { KnownKeys } from './known-keys.ts';
import { requireSubject } from './subjects.ts';

type Guard = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** The checks before the handlers of job routes; they run before the body is read. */
export interface Guards {
  /** Requires a valid `X-API-Key`, or a browser session, with the right that the documentation of the route names, to what it owns. */
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
  /** The same, against the limit of signed addresses: a page of covers is one request. */
  readonly limitedByLinks: Guard;
  /** The same, against the limit of browser sessions that are begun and renewed. */
  readonly limitedBySession: Guard;
  /** Whether the API key or the session of a request is still one; true while that cannot be known. */
  readonly isStillKnown: (request: FastifyRequest) => Promise<boolean>;
  /** Counts a notification of the bucket against the limit of its sender. */
  readonly spendEvents: (sender: string, reply: FastifyReply) => Promise<void>;
}

/** Storage sends one for each object: a folder is uploaded faster than jobs are submitted by hand. */
const eventsPerSubmission = 40;

/** Two a second, each after a pause in typing. */
const checksPerMinute = 120;
const linksPerMinute = 120;
/** A page renews its session every five minutes, and at once after a reload. */
const sessionsPerMinute = 120;

interface GuardDependencies extends Pick<ApiDependencies, 'config'> {
  readonly limiter: RateLimiter;
  readonly knownKeys: KnownKeys;
  readonly owners: OwnerStore;
}

export function apiGuards({ config, limiter, knownKeys, owners }: GuardDependencies): Guards {
  const authenticated: Guard = async (request, reply) => {
    const { key } = await checkApiKey(request, reply, knownKeys);
    requireRightOfRoute(request, key);
    await requireSubject(request, key, owners);
  };
  const limitedBy =
    (limit: RateLimit): Guard =>
    async (request, reply) => {
      announceLimit(limit, reply);
      await authenticated(request, reply);
      await limiter.spend(limit, apiKeyBucket(request), reply);
    };
  const quota = config.apiRateLimitPerMinute;
  return {
    authenticated,
    limited: limitedBy({ name: 'api', quota }),
    limitedByUpload: limitedBy({ name: 'uploads', quota }),
    limitedByImport: limitedBy({ name: 'imports', quota }),
    limitedByRollout: limitedBy({ name: 'rollouts', quota }),
    limitedByCheck: limitedBy({ name: 'profile-check', quota: checksPerMinute }),
    limitedByLinks: limitedBy({ name: 'console', quota: linksPerMinute }),
    limitedBySession: limitedBy({ name: 'sessions', quota: sessionsPerMinute }),
    isStillKnown: async (request) => (await findCredential(request, knownKeys).catch(() => true)) !== null,
    spendEvents: (sender, reply) =>
      limiter.spend({ name: 'events', quota: quota * eventsPerSubmission }, sender, reply),
    limitedByBatch: limitedBy({ name: 'batch', quota: config.batchRateLimitPerMinute }),
  };
}

/**
 * @throws KnownProblem `forbidden` when the key or session lacks the right that the route needs, or the route is not for
 * sessions
 */
function requireRightOfRoute(request: FastifyRequest, key: ApiKey): void {
  const { doc } = request.routeOptions.config;
  // A route without a right is open to nobody.
  const { right, partRight, isForKeysAlone } = doc?.credential === 'api_key' ? doc : { right: 'admin' as const };
  if (isForKeysAlone === true && sessionOf(request) !== null)
    throw new KnownProblem('forbidden', 'A session may not do this; send X-API-Key, from a program and not a page.');
  if (right === 'any' || includesRight(key.rights, right)) return;
  if (partRight === undefined || !includesRight(key.rights, partRight)) throw lackOf(request, key, right);
}

/**
 * Refuses a part of an operation to a key that was let in by `partRight`.
 *
 * @param needing what needs the right, for the answer
 * @throws KnownProblem `forbidden`
 */
export function requireRight(request: FastifyRequest, right: Right, needing: string): void {
  const key = apiKeyOf(request);
  if (key !== null && !includesRight(key.rights, right)) throw lackOf(request, key, right, needing);
}

function lackOf(request: FastifyRequest, { name }: ApiKey, right: Right, needing = 'this address'): KnownProblem {
  const holder = sessionOf(request) === null ? `The API key ${name}` : `This session of the API key ${name}`;
  return new KnownProblem('forbidden', `${holder} lacks the right ${right}, which ${needing} needs.`);
}
