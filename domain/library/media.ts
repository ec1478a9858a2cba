import { z } from 'zod';
import { mediaHashSchema } from '../jobs/submission.ts';
import { playbackModes } from '../media/playback.ts';

/** What is kept of a media itself; everything else follows from its jobs. */
export interface Media {
  readonly hash: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** When it is deleted by itself; null: never. */
  readonly expiresAt: Date | null;
  /** While true, neither a request nor a time deletes anything of it. */
  readonly legalHold: boolean;
  /** Of the objects that the results of its jobs name, as each job ended; chunks that jobs share count for each. */
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
      .optional(),
    legal_hold: z.boolean().optional(),
    /** `signed`: `/stream` is 404, and `/s` plays by tickets. */
    playback: z.enum(playbackModes).optional(),
  })
  .refine((change) => Object.keys(change).length > 0, 'must have expires_at, legal_hold or playback');

/** The body of `PUT /api/media/{hash}/current`. */
export const currentRevisionSchema = z.strictObject({
  revision: z.string().regex(/^[0-9a-f]{16}$/, 'must be a revision of GET /api/media/{hash}: 16 hex characters'),
});

const time = z.iso.datetime({ offset: true });
const limit = z.coerce.number<string>().int().min(1).max(100).default(50);

/** The query of `GET /api/media`. One filter of each kind decides the order, since each has an index. */
export const mediaListQuerySchema = z.strictObject({
  /** The first characters of the hash; the list is in the order of hashes then. */
  prefix: mediaHashSchema.optional(),
  /** Newest first. */
  created_after: time.optional(),
  created_before: time.optional(),
  /** In the order of their expiry. */
  expires_before: time.optional(),
  /** The largest first. */
  bytes_min: z.coerce.number<string>().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  limit,
  cursor: z.string().max(512).optional(),
});

/** The query of `GET /api/media/{hash}/files`. */
export const mediaFilesQuerySchema = z.strictObject({
  limit: z.coerce.number<string>().int().min(1).max(1000).default(1000),
  cursor: z.string().max(2048).optional(),
});
