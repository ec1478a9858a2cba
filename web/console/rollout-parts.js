import { h } from './dom.js';
import { bytesText, dateTimeText } from './format.js';
import { facts } from './parts.js';

// What the list and the page of rollouts both show.

const activeStatuses = ['canary', 'running', 'cancelling', 'rolling_back'];

export const isActiveRollout = ({ status }) => activeStatuses.includes(status);

/** A status that the others' colours fit. */
const kinds = { canary: 'processing', running: 'processing', cancelling: 'processing', rolling_back: 'processing' };

export const rolloutBadge = ({ status, paused }) =>
  h(
    'span',
    { class: 'badge', dataset: { status: paused ? 'queued' : (kinds[status] ?? status) } },
    paused ? `${status.replace('_', ' ')}, paused` : status.replace('_', ' '),
  );

const segments = [
  ['done', 'done'],
  ['running', 'running'],
  ['failed', 'failed'],
  ['rolled_back', 'rolled back'],
  ['kept', 'kept'],
  ['skipped', 'skipped'],
  ['planned', 'planned'],
];

/** A bar of what became of the media, and the same in words. */
export function countsBar(media, label) {
  const all = segments.reduce((sum, [name]) => sum + media[name], 0);
  const shown = segments.filter(([name]) => media[name] > 0);
  return h(
    'div',
    { class: 'counts' },
    h(
      'div',
      { class: 'segments', 'aria-hidden': 'true' },
      shown.map(([name]) => h('span', { dataset: { name }, vars: { '--share': String(media[name] / all) } })),
    ),
    h(
      'ul',
      { class: 'plain legend', 'aria-label': label },
      shown.length === 0
        ? h('li', { class: 'soft' }, 'no media yet')
        : shown.map(([name, text]) =>
            h('li', { dataset: { name } }, h('strong', {}, media[name].toLocaleString('en')), ` ${text}`),
          ),
    ),
  );
}

/** `saved 3.1 GB of 7.2 GB (43 %)`; null before a size is known. */
export function savedText({ bytes: { before, saved } }) {
  if (before === 0) return null;
  const share = `${Math.round((100 * Math.abs(saved)) / before)} %`;
  return saved < 0
    ? `${bytesText(-saved)} more than ${bytesText(before)} (${share})`
    : `${bytesText(saved)} of ${bytesText(before)} (${share})`;
}

const score = (value) => (value === null ? null : value.toFixed(1));

/** Sizes and scores of a group of media. */
export const outcomeFacts = (media) =>
  facts([
    ['Bytes saved', savedText(media) ?? 'not known'],
    ['Mean score', score(media.score.mean) ?? 'not known'],
    [
      'Score of media with one before',
      media.score.before === null ? null : `${score(media.score.before)} before, ${score(media.score.after)} after`,
    ],
  ]);

/** How the canary was judged, in a few words; null without one. */
export function gateText({ canary, gate }) {
  if (canary === null) return null;
  if (gate === null) return 'canary is being made';
  return gate.passed ? 'canary passed its gate' : 'canary failed its gate';
}

/** Which media a rollout is of. */
export function whichText({ hash_prefix: prefix, profile, made_before: before }) {
  const texts = [
    prefix ? `whose hash begins with ${prefix}` : null,
    profile ? `made by ${profile}` : null,
    before ? `made before ${dateTimeText(before)}` : null,
  ].filter(Boolean);
  return texts.length === 0 ? 'Every media with a stream' : `Media ${texts.join(', ')}`;
}
