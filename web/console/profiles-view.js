import { api } from './api.js';
import { h } from './dom.js';
import { bytesText } from './format.js';
import { card, faultState, tableOf } from './parts.js';

// The encoding profiles, and the rules that choose one of them for a source.

const originTexts = { built_in: 'built in', configuration: 'MEDIA_PROFILES', cluster: 'MediaProfile' };

/** @returns `{node, destroy()}` */
export function profilesView() {
  const stopping = new AbortController();
  const body = h('div', { class: 'stack', 'aria-busy': 'true' });
  const open = async () => {
    try {
      const { profiles, rules } = await api.profiles(stopping.signal);
      body.removeAttribute('aria-busy');
      body.replaceChildren(profilesCard(profiles), rulesCard(rules));
    } catch (problem) {
      if (!stopping.signal.aborted) body.replaceChildren(faultState(problem, () => void open()));
    }
  };
  void open();
  const node = h(
    'div',
    { class: 'view page' },
    h(
      'header',
      { class: 'page-head title-line' },
      h('h1', {}, 'Profiles'),
      h('div', { class: 'actions' }, h('a', { class: 'button', href: '#/check' }, 'Write a profile')),
    ),
    body,
  );
  return { node, destroy: () => stopping.abort() };
}

const profilesCard = (profiles) =>
  card(
    'All profiles',
    {},
    tableOf(
      'All profiles',
      ['Name', 'From', 'Rungs', 'Codecs', 'Digest'],
      profiles.map(({ name, origin, rungs, codecs, digest }) => [
        h('a', { href: `#/profiles/${encodeURIComponent(name)}` }, name),
        originTexts[origin] ?? origin,
        String(rungs),
        codecs.join(', '),
        h('code', { title: digest }, digest.slice(0, 8)),
      ]),
    ),
  );

function rulesCard(rules) {
  const otherwise = 'Sources that no rule fits get the profile default.';
  if (rules.length === 0) return card('Rules', {}, h('p', { class: 'soft' }, `There are none. ${otherwise}`));
  return card(
    'Rules',
    {},
    h('p', { class: 'soft' }, `The first that fits a source decides. ${otherwise}`),
    tableOf(
      'Rules',
      ['Source', 'Size', 'Profile'],
      rules.map(({ profile, source_prefix: prefix, source_bytes_min: min, source_bytes_max: max }) => [
        prefix === null ? 'any' : h('code', {}, `${prefix}…`),
        sizesText(min, max),
        h('a', { href: `#/profiles/${encodeURIComponent(profile)}` }, profile),
      ]),
    ),
  );
}

function sizesText(min, max) {
  if (min === null && max === null) return 'any';
  const texts = [min === null ? null : `from ${bytesText(min)}`, max === null ? null : `up to ${bytesText(max)}`];
  return texts.filter(Boolean).join(' ');
}
