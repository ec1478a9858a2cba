import { api } from './api.js';
import { h } from './dom.js';
import { card, tableOf } from './parts.js';

// How a media plays, as its players say it.

const shareText = (share) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
const rateText = (kbps) => (kbps === null ? '–' : `${(kbps / 1000).toFixed(1)} Mb/s`);
const names = ['Day (UTC)', 'Sessions, about', 'Requests', 'After an empty buffer', 'Median throughput'];

/** A row for each day on which it was played; hidden until there is one. */
export function playbackCard(hash) {
  const body = h('div');
  const node = card('Playback', { hidden: true }, body);
  const show = ({ days }) => {
    const rows = days.map((each) => [
      each.day,
      each.sessions.toLocaleString('en'),
      each.requests.toLocaleString('en'),
      shareText(each.starved_share),
      rateText(each.median_throughput_kbps),
    ]);
    body.replaceChildren(tableOf('Playback', names, rows));
    node.hidden = rows.length === 0;
  };
  // The page of the media is of use without it.
  api.mediaPlayback(hash).then(show, () => undefined);
  return node;
}
