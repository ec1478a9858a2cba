import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Fault, KnownProblem } from '#domain/errors.ts';
import { poolNameSchema } from '#domain/pool-name.ts';
import { priorityMax } from '#domain/jobs/ticket.ts';
import { requireChoices } from '#domain/keys/api-key.ts';
import { quotaWarning, type UsedQuota } from '#domain/keys/quotas.ts';
import type { Choices } from '#jobs/submission/choices.ts';
import { readDescription } from './description-headers.ts';
import { apiKeyOf } from './hooks/api-key.ts';

/** A profile is named as in `MEDIA_PROFILES` and as a MediaProfile. */
const profilePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const priorityPattern = /^-?\d{1,4}$/;

/**
 * Reads the choices in the headers `X-Profile`, `X-Pool`, `X-Priority`, `X-Title` and `X-Metadata` of a submission: the
 * body of version 1 gets no new fields.
 *
 * Without `X-Profile` it is the first profile that the API key may choose, where it may not choose every one.
 *
 * @throws KnownProblem `invalid_request`, whose faults name the headers; `forbidden` for what the key may not choose
 */
export function choicesOf(request: FastifyRequest): Choices {
  const { headers } = request;
  const [profile, pool, priority] = [headers['x-profile'], headers['x-pool'], headers['x-priority']];
  const faults: Fault[] = [];
  if (profile !== undefined && !profilePattern.test(String(profile)))
    faults.push(fault('/X-Profile', 'must be the name of a profile: 1–63 of a–z, 0–9 and "-"'));
  if (pool !== undefined && !poolNameSchema.safeParse(pool).success)
    faults.push(fault('/X-Pool', 'must be the name of a pool: 1–63 of a–z, 0–9 and "-"'));
  if (priority !== undefined && !isPriority(String(priority)))
    faults.push(fault('/X-Priority', `must be a whole number from -${priorityMax} to ${priorityMax}`));
  const said = readDescription(headers);
  faults.push(...said.faults);
  if (faults.length > 0) throw new KnownProblem('invalid_request', undefined, { faults });
  const key = apiKeyOf(request);
  const chosen = profile === undefined ? key?.profiles?.[0] : String(profile);
  if (key !== null)
    requireChoices(key, { profile: chosen, ...(priority === undefined ? {} : { priority: Number(priority) }) });
  return {
    ...(key === null ? {} : { keyId: key.id, quotas: key.quotas }),
    ...(chosen === undefined ? {} : { profile: chosen }),
    ...(pool === undefined ? {} : { pool: String(pool), refusesUnknownPool: true }),
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    ...said.description,
  };
}

/** Says which quotas of the key are near their limits (C37.13). */
export function warnOfQuotas(reply: FastifyReply, near: readonly UsedQuota[] = []): void {
  if (near.length > 0) reply.header('x-quota-warning', quotaWarning(near));
}

function isPriority(text: string): boolean {
  return priorityPattern.test(text) && Math.abs(Number(text)) <= priorityMax;
}

function fault(pointer: string, detail: string): Fault {
  return { pointer, code: 'invalid_header', detail };
}
