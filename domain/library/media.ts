import { z } from 'zod';
import { mediaHashSchema } from '../jobs/submission.ts';
import { playbackModes } from '../media/playback.ts';
import { metadataPairsSchema, metadataSchema, titleCharactersMax, titleSchema } from '../media/description.ts';

/** The record of a media itself; everything else follows from its jobs. */
export interface Media {
  readonly hash: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** The time at which it is deleted without a request; null: never. */
  readonly expiresAt: Date | null;
  /** While true, neither a request nor a time deletes anything of it. */
  readonly legalHold: boolean;
  /**
   * The size of the objects that the results of its jobs name, as each job ended; chunks that jobs share count for
   * each.
   */
  readonly bytes: number;
  readonly objects: number;
}

/** `deleting`: delivery answers 410, and its objects are being removed. `deleted`: nothing of it is left. */
export const mediaStatuses = ['live', 'deleting', 'deleted'] as const;
export type MediaStatus = (typeof mediaStatuses)[number];

/** The farthest expiry: dates beyond it are mistakes of units. */
const latestExpiry = '9999-12-31T23:59:59Z';

/** The body of `PATCH /api/media/{hash}`. */
export const mediaChangeSchema = z
  .strictObject({
    expires_at: z.iso
      .datetime({ offset: true })
      .refine((time) => Date.parse(time) <= Date.parse(latestExpiry), `must not be after ${latestExpiry}`)
      .refine((time) => Date.parse(time) >= 0, 'must not be before 1970')
      .nullable()
      .optional()
      .describe('When it is deleted; null: never.')
      .meta({ examples: ['2027-01-31T00:00:00Z'] }),
    legal_hold: z.boolean().optional().describe('Whether nothing of it may be deleted.'),
    playback: z
      .enum(playbackModes)
      .optional()
      .describe('How it plays; with `signed`, `/stream` of it is 404, and `/s` plays it by tickets.'),
    title: titleSchema.nullable().optional().describe('What people call it; null: nothing.'),
    metadata: metadataSchema
      .nullable()
      .optional()
      .describe('All of its strings, which replace those that it has; null or an empty object: none.'),
  })
  .refine((change) => Object.keys(change).length > 0, 'must have expires_at, legal_hold, playback, title or metadata');

/** The body of `PUT /api/media/{hash}/current`. */
export const currentRevisionSchema = z.strictObject({
  revision: z
    .string()
    .regex(/^[0-9a-f]{16}$/, 'must be a revision of GET /api/media/{hash}: 16 hex characters')
    .describe('The revision, as `GET /api/media/{hash}` lists it.')
    .meta({ examples: ['9f86d081884c7d65'] }),
});

const time = z.iso.datetime({ offset: true });
const limit = z.coerce.number<string>().int().min(1).max(100).default(50).describe('Entries of a page.');
const cursor = (max: number) => z.string().max(max).optional().describe('The `next_cursor` of the page before.');

/** The query of `GET /api/media`. One filter of each kind decides the order, since each has an index. */
export const mediaListQuerySchema = z.strictObject({
  prefix: mediaHashSchema
    .optional()
    .describe('The first characters of the hash; the list is in the order of hashes then.'),
  created_after: time.optional().describe('Only media from after this time, the newest first.'),
  created_before: time.optional().describe('Only media from before this time, the newest first.'),
  expires_before: time.optional().describe('Only media that expire before this time, in the order of their expiry.'),
  bytes_min: z.coerce
    .number<string>()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('Only media of at least so many bytes, the largest first.'),
  q: z
    .string()
    .min(1)
    .max(titleCharactersMax)
    .optional()
    .describe(
      'Only media whose title has words that begin with the words of this, without case and accents, or whose hash begins with it; in the order of hashes.',
    ),
  metadata: metadataPairsSchema
    .optional()
    .describe(
      'Only media whose metadata has this string, as `NAME=TEXT`; repeated up to three times, all of them. In the order of hashes; `prefix` goes with it.',
    ),
  limit,
  cursor: cursor(512),
});

/** The query of `GET /api/media/{hash}/files`. */
export const mediaFilesQuerySchema = z.strictObject({
  limit: z.coerce.number<string>().int().min(1).max(1000).default(1000).describe('Entries of a page.'),
  cursor: cursor(2048),
});
