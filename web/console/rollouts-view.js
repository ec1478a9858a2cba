import { ask } from './api.js';
import { html } from './base.js';
import { useFeed } from './feed.js';
import { ago, emptyState, feedEnd } from './parts.js';
import { countsBar, gateText, rolloutBadge, savedText, whichText } from './rollout-parts.js';

// The list of rollouts, newest first.

/** @import { FeedOptions, Rollout } from './types.ts' */

const startLink = html`<a class="button primary" href="#/rollouts/new">Start a rollout</a>`;
const emptyText = 'Re-encode many media with another profile. A small share goes first, and you can undo all of it.';

/** @type {FeedOptions<Rollout>} */
const list = {
  async read(page, signal) {
    const { rollouts: items, next_cursor: cursor } = await ask((http) =>
      http.GET('/api/rollouts', { params: { query: page }, signal }),
    );
    return { items, cursor };
  },
  idOf: ({ rollout_id: id }) => id,
  pageSize: 50,
  polledItems: 20,
  pollMs: 3000,
};

export function RolloutsView() {
  const feed = useFeed(list);
  return html`<div class="view page">
    <header class="page-head title-line">
      <h1>Rollouts</h1>
      <div class="actions"><a class="button" href="#/rollouts/new">Start a rollout</a></div>
    </header>
    <ul class="plain rollouts" aria-label="Rollouts, newest first">
      ${feed.items.map((rollout) => html`<li key=${rollout.rollout_id}>${tileOf(rollout)}</li>`)}
    </ul>
    ${feedEnd(feed, () => emptyState('No rollouts yet', emptyText, startLink))}
  </div>`;
}

/** @param {Rollout} rollout */
function tileOf(rollout) {
  const { rollout_id: id, spec, media, created_at: at } = rollout;
  const saved = savedText(media);
  const texts = [gateText(rollout), saved === null ? null : `saved ${saved}`].filter((text) => text !== null);
  return html`<article class="card tile-row" data-gate=${String(rollout.gate?.passed ?? '')}>
    <div class="title-line">
      <h2><a class="cover-link" href=${`#/rollouts/${id}`}>To ${spec.to_profile}</a></h2>
      ${rolloutBadge(rollout)}
    </div>
    <p class="soft">${whichText(spec.which)}</p>
    ${countsBar(media, `Media of the rollout to ${spec.to_profile}`)}
    <p class="soft">${texts.map((text) => `${text} · `)}started ${ago(at)}</p>
  </article>`;
}
