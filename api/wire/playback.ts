import { z } from 'zod';
import { answers } from '#platform/http/route-doc.ts';
import type { PlaybackDay } from '#platform/postgres/playback-day-store.ts';
import { count } from './fields.ts';

const daySchema = z.object({
  day: z.iso
    .date()
    .describe('The day in UTC.')
    .meta({ examples: ['2026-11-24'] }),
  requests: count.describe('Requests by players that said their state.').meta({ examples: [8412] }),
  sessions: count.describe('An estimate of how many sessions there were.').meta({ examples: [131] }),
  starved_share: z
    .number()
    .min(0)
    .max(1)
    .describe('The share of requests after the buffer ran empty: 0 to 1.')
    .meta({ examples: [0.007] }),
  median_throughput_kbps: count
    .nullable()
    .describe('The median throughput in kilobits a second; null where no player said it.')
    .meta({ examples: [18_300] }),
});
export const playbackDaysSchema = z
  .object({ days: z.array(daySchema).describe('The days, the newest first.') })
  .register(answers, { id: 'PlaybackDays' });

/** `GET /api/media/{hash}/playback` (C34.6). */
export function playbackToWire(days: readonly PlaybackDay[]): z.output<typeof playbackDaysSchema> {
  return {
    days: days.map(({ day, requests, starved, sessions, throughputKbps }) => ({
      day,
      requests,
      sessions,
      starved_share: requests === 0 ? 0 : Number((starved / requests).toFixed(4)),
      median_throughput_kbps: throughputKbps,
    })),
  };
}
