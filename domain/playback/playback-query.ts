import { z } from 'zod';

/** The query of `GET /api/media/{hash}/playback`. */
export const playbackQuerySchema = z.strictObject({
  days: z.coerce.number<string>().int().min(1).max(366).default(30).describe('How many days, the newest first.'),
});
