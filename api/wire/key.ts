import { z } from 'zod';
import { poolNameSchema } from '#domain/pool-name.ts';
import { priorityMax } from '#domain/jobs/ticket.ts';
import { keyIdOf, weightMax } from '#domain/keys/api-key.ts';
import { type KeyQuotas, type QuotaName, whenReached } from '#domain/keys/quotas.ts';
import { rights } from '#domain/keys/rights.ts';
import { sourceKeySchema } from '#domain/jobs/submission.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import { keyOrigins, type ListedKey, type NewKey } from '#platform/postgres/key-store.ts';
import { lineOfText, nextCursorField, pageQuery, time } from './fields.ts';

const nameField = z
  .string()
  .describe('The name of the key, which no other has.')
  .meta({ examples: ['acme'] });
const rightsField = z.array(z.enum(rights)).describe('What the key may do; `admin` is everything.');

const amount = z.number().positive().max(Number.MAX_SAFE_INTEGER);
const whole = z.int().min(1);
const quotaFields = {
  jobs_at_once: whole
    .optional()
    .describe('Jobs that have not ended.')
    .meta({ examples: [100] }),
  jobs_a_day: whole
    .optional()
    .describe('Jobs that ended in the day (UTC), and those that have not ended.')
    .meta({ examples: [5_000] }),
  output_minutes_a_day: amount
    .optional()
    .describe('Minutes of renditions that were made in the day.')
    .meta({ examples: [600] }),
  processor_hours_a_day: amount
    .optional()
    .describe('Processor hours that attempts took which ended in the day.')
    .meta({ examples: [24] }),
  stored_bytes: whole
    .optional()
    .describe('What the results of its jobs take up.')
    .meta({ examples: [1_000_000_000_000] }),
  when_reached: z
    .enum(whenReached)
    .optional()
    .describe('What happens to a job beyond a quota: it is refused (default), or accepted and waits.')
    .meta({ examples: ['wait'] }),
} as const satisfies Record<QuotaName | 'when_reached', z.ZodType>;

/** A named key without its text. */
const keyFields = {
  key_id: z
    .string()
    .describe('The key: the first 8 hex digits of its SHA-256, as log lines name it.')
    .meta({ examples: ['2bb80d53'] }),
  name: nameField,
  rights: rightsField,
  hash_prefix: z
    .string()
    .nullable()
    .describe('The key submits and sees media whose hash begins with it; null: all.')
    .meta({ examples: ['acme-'] }),
  source_prefix: z
    .string()
    .nullable()
    .describe('Sources that the key may submit, beside its own uploads and imports; null: all.')
    .meta({ examples: ['acme/'] }),
  profiles: z
    .array(z.string())
    .nullable()
    .describe('Profiles that the key may choose, the first by default; null: all.')
    .meta({ examples: [['mobile']] }),
  priority_max: z
    .int()
    .describe('The greatest `X-Priority` that the key may send.')
    .meta({ examples: [0] }),
  weight: z
    .int()
    .describe('How many slots its jobs get beside those of other keys that wait, in proportion to their weights.')
    .meta({ examples: [1] }),
  quotas: z
    .object(quotaFields)
    .nullable()
    .describe('What it may use; null: whatever it asks for.')
    .meta({ examples: [null] }),
  origin: z
    .enum(keyOrigins)
    .describe(
      '`file`: it is an entry of `API_KEYS_FILE`, and is revoked by leaving it; `api`: it was made by a request.',
    )
    .meta({ examples: ['api'] }),
  created_at: time.describe('When it was made.'),
  expires_at: time.nullable().describe('From when it is refused; null: never.'),
  last_used_at: time.nullable().describe('The hour of its last use; null: never used.'),
};

export const keySchema = z.object(keyFields).register(answers, { id: 'Key' });
export const newKeySchema = z
  .object({
    ...keyFields,
    key: z
      .string()
      .describe('The key to send as X-API-Key. No later answer has it.')
      .meta({ examples: ['rw_for-example-only'] }),
  })
  .register(answers, { id: 'NewKey' });
export const keyListSchema = z
  .object({ keys: z.array(keySchema).describe('The keys, by name.'), next_cursor: nextCursorField })
  .register(answers, { id: 'KeyList' });
export const keyListQuerySchema = z.strictObject(pageQuery);

const hashPrefixSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,126}$/, 'must be the beginning of a hash')
  .refine((prefix) => !prefix.includes('..'), 'must not contain ".."');

export const keyBodySchema = z
  .strictObject({
    name: lineOfText(64)
      .min(1)
      .describe('A name that no other key has, for log lines and lists.')
      .meta({ examples: ['acme'] }),
    rights: rightsField.min(1),
    hash_prefix: hashPrefixSchema
      .optional()
      .describe('Media whose hash begins with it are all that the key submits and sees. End it with a separator.')
      .meta({ examples: ['acme-'] }),
    source_prefix: sourceKeySchema
      .optional()
      .describe('Sources that the key may submit, beside its own uploads and imports.')
      .meta({ examples: ['acme/'] }),
    profiles: z
      .array(poolNameSchema)
      .min(1)
      .max(50)
      .optional()
      .describe('Profiles that the key may choose; a submission that names none has the first.')
      .meta({ examples: [['mobile']] }),
    priority_max: z
      .int()
      .min(0)
      .max(priorityMax)
      .default(0)
      .describe('The greatest `X-Priority` that the key may send.'),
    weight: z
      .int()
      .min(1)
      .max(weightMax)
      .default(1)
      .describe('How many slots its jobs get beside those of other keys that wait, in proportion to their weights.'),
    quotas: z
      .strictObject(quotaFields)
      .optional()
      .describe('What the key may use; what is left out has no limit.')
      .meta({ examples: [{ jobs_a_day: 5_000 }] }),
    expires_at: z.iso
      .datetime()
      .optional()
      .describe('From when the key is refused; by default never.')
      .meta({ examples: ['2027-01-31T00:00:00Z'] }),
  })
  .refine(({ rights: given, hash_prefix: prefix }) => prefix === undefined || !given.includes('admin'), {
    path: ['hash_prefix'],
    message: 'must be left out for the right admin, which is to everything',
  })
  .register(bodies, { id: 'KeyRequest' });

/** Quotas as they are stored: null for none. */
function quotasOf(given: z.output<typeof keyBodySchema>['quotas']): KeyQuotas | null {
  const { when_reached: when, ...limits } = given ?? {};
  const said = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  return said.length === 0
    ? null
    : { ...Object.fromEntries(said), ...(when === undefined ? {} : { when_reached: when }) };
}

/** The key that a request or an entry of a file describes, with the SHA-256 of its secret. */
export function newKeyOf(given: z.output<typeof keyBodySchema>, sha256: Buffer): NewKey {
  return {
    id: keyIdOf(sha256),
    name: given.name,
    rights: given.rights,
    hashPrefix: given.hash_prefix ?? null,
    sourcePrefix: given.source_prefix ?? null,
    profiles: given.profiles ?? null,
    priorityMax: given.priority_max,
    weight: given.weight,
    quotas: quotasOf(given.quotas),
    sha256,
    expiresAt: given.expires_at === undefined ? null : new Date(given.expires_at),
  };
}

/** A key as administrators see it. */
export function keyToWire(key: ListedKey): z.output<typeof keySchema> {
  return {
    key_id: key.id,
    name: key.name,
    rights: [...key.rights],
    hash_prefix: key.hashPrefix,
    source_prefix: key.sourcePrefix,
    profiles: key.profiles === null ? null : [...key.profiles],
    priority_max: key.priorityMax,
    weight: key.weight,
    quotas: key.quotas ?? null,
    origin: key.origin,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}
