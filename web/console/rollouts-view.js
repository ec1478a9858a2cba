import { api } from './api.js';
import { h, redraw } from './dom.js';
import { agoText } from './format.js';
import { emptyState, faultState } from './parts.js';
import { countsBar, gateText, rolloutBadge, savedText, whichText } from './rollout-parts.js';

// The list of rollouts, newest first.

const pollMs = 3000;
const pageSize = 50;

/** @returns `{node, destroy()}` */
export function rolloutsView() {
  const stopping = new AbortController();
  const { signal } = stopping;
  const list = h('ul', { class: 'plain rollouts', 'aria-label': 'Rollouts, newest first' });
  const message = h('div', {});
  const more = h('button', { type: 'button', class: 'button', hidden: true }, 'Show more');
  const entries = new Map();
  let cursor;

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

  async function loadPage() {
    more.disabled = true;
    try {
      const page = await api.rollouts({ limit: pageSize, cursor }, signal);
      for (const rollout of page.rollouts) take(rollout, false);
      cursor = page.next_cursor;
      more.hidden = cursor === null;
      message.replaceChildren(...(entries.size === 0 ? [noRollouts()] : []));
    } catch (problem) {
      if (!signal.aborted) message.replaceChildren(faultState(problem, () => void loadPage()));
    } finally {
      more.disabled = false;
    }
  }

  async function poll() {
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      if (signal.aborted || document.hidden || cursor === undefined) continue;
      const page = await api.rollouts({ limit: 20 }, signal).catch(() => ({ rollouts: [] }));
      for (const rollout of page.rollouts.toReversed()) take(rollout, true);
      if (page.rollouts.length > 0) message.replaceChildren();
    }
  }

  more.addEventListener('click', () => void loadPage());
  void loadPage();
  void poll();
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
  const texts = [gateText(rollout), saved === null ? null : `saved ${saved}`, `started ${agoText(at)}`];
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
    h('p', { class: 'soft' }, texts.filter(Boolean).join(' · ')),
  );
}
