import { api } from './api.js';
import { h, redraw } from './dom.js';
import { newestFirst } from './newest-first.js';
import { ago, emptyState } from './parts.js';
import { countsBar, gateText, rolloutBadge, savedText, whichText } from './rollout-parts.js';

// The list of rollouts, newest first.

const pollMs = 3000;
const pageSize = 50;

const read = async (page, signal) => {
  const { rollouts: items, next_cursor: cursor } = await api.rollouts(page, signal);
  return { items, cursor };
};

/** @returns `{node, destroy()}` */
export function rolloutsView() {
  const stopping = new AbortController();
  const { signal } = stopping;
  const list = h('ul', { class: 'plain rollouts', 'aria-label': 'Rollouts, newest first' });
  const entries = new Map();

  const take = (rollout, isOnTop) => {
    let entry = entries.get(rollout.rollout_id);
    if (entry === undefined) {
      entry = { node: h('li', {}), drawn: '' };
      entries.set(rollout.rollout_id, entry);
      if (isOnTop) list.prepend(entry.node);
      else list.append(entry.node);
    }
    const drawn = JSON.stringify(rollout);
    if (entry.drawn === drawn) return;
    entry.drawn = drawn;
    redraw(entry.node, tileOf(rollout));
  };

  const isEmpty = () => entries.size === 0;
  const isKnown = ({ rollout_id: id }) => entries.has(id);
  const { message, more } = newestFirst({ read, take, isKnown, isEmpty, empty: noRollouts, pageSize, pollMs, signal });
  const node = h(
    'div',
    { class: 'view page' },
    h(
      'header',
      { class: 'page-head title-line' },
      h('h1', {}, 'Rollouts'),
      h('div', { class: 'actions' }, h('a', { class: 'button', href: '#/rollouts/new' }, 'Start a rollout')),
    ),
    list,
    message,
    h('p', { class: 'more' }, more),
  );
  return { node, destroy: () => stopping.abort() };
}

const noRollouts = () =>
  emptyState(
    'No rollouts yet',
    'A rollout makes the streams of many media again by another profile, a canary first, and can be rolled back.',
    h('a', { class: 'button primary', href: '#/rollouts/new' }, 'Start a rollout'),
  );

function tileOf(rollout) {
  const { rollout_id: id, spec, media, created_at: at } = rollout;
  const saved = savedText(media);
  const texts = [gateText(rollout), saved === null ? null : `saved ${saved}`].filter(Boolean);
  return h(
    'article',
    { class: 'card tile-row', dataset: { gate: String(rollout.gate?.passed ?? '') } },
    h(
      'div',
      { class: 'title-line' },
      h('h2', {}, h('a', { class: 'cover-link', href: `#/rollouts/${id}` }, `To ${spec.to_profile}`)),
      rolloutBadge(rollout),
    ),
    h('p', { class: 'soft' }, whichText(spec.which)),
    countsBar(media, `Media of the rollout to ${spec.to_profile}`),
    h(
      'p',
      { class: 'soft' },
      texts.map((text) => `${text} · `),
      'started ',
      ago(at),
    ),
  );
}
