import { ask, byHash } from './api.js';
import { useLoaded } from './base.js';
import { card, tableOf } from './parts.js';

// How a media plays, as its players say it.

/** @param {number} share */
const shareText = (share) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
/** @param {number | null} kbps */
const rateText = (kbps) => (kbps === null ? '–' : `${(kbps / 1000).toFixed(1)} Mb/s`);
const names = ['Day (UTC)', 'Sessions, about', 'Requests', 'After an empty buffer', 'Median throughput'];

/** A row for each day on which it was played; nothing until there is one. @param {{ hash: string }} props */
export function PlaybackCard({ hash }) {
  // The page of the media is of use without it.
  const { data } = useLoaded(() => ask((http) => http.GET('/api/media/{hash}/playback', byHash(hash))), [hash]);
  if (data === null || data.days.length === 0) return null;
  const rows = data.days.map((each) => [
    each.day,
    each.sessions.toLocaleString('en'),
    each.requests.toLocaleString('en'),
    shareText(each.starved_share),
    rateText(each.median_throughput_kbps),
  ]);
  return card('Playback', {}, tableOf('Playback', names, rows));
}
