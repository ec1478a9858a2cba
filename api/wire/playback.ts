import type { PlaybackDay } from '#platform/postgres/playback-day-store.ts';
import type { Wire } from './schemas.ts';

/** `GET /api/media/{hash}/playback` (C34.6). */
export function playbackToWire(days: readonly PlaybackDay[]): Wire<'PlaybackDays'> {
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
