import { z } from 'zod';
import { rights } from '#domain/keys/rights.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import { time } from './fields.ts';

export const sessionSchema = z
  .object({
    key_id: z
      .string()
      .describe('The API key of the session: the first 8 hex digits of its SHA-256.')
      .meta({ examples: ['2bb80d53'] }),
    key_name: z
      .string()
      .describe('Its name.')
      .meta({ examples: ['acme'] }),
    rights: z.array(z.enum(rights)).describe('What the session may do; `admin` is everything but making keys.'),
    hash_prefix: z
      .string()
      .nullable()
      .describe('The session sees media whose hash begins with it, as its key does; null: all.')
      .meta({ examples: ['acme-'] }),
    expires_at: time.describe('When it ends, unless it is renewed before.'),
    ends_at: time.describe('When it ends for good, a day after it began.'),
  })
  .register(answers, { id: 'Session' });

export const sessionBodySchema = z
  .strictObject({
    rights: z.array(z.enum(rights)).min(1).optional().describe('Some of the rights of the key; by default all.'),
  })
  .register(bodies, { id: 'SessionRequest' });
