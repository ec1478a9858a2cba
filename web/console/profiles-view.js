import { ask } from './api.js';
import { html, useLoaded } from './base.js';
import { bytesText } from './format.js';
import { card, isBusy, tableOf, whenLoaded } from './parts.js';

// The encoding profiles, and the rules that choose one of them for a source.

/** @import { Schemas } from './types.ts' */

/** @type {Record<string, string>} */
const originTexts = { built_in: 'built in', configuration: 'MEDIA_PROFILES', cluster: 'MediaProfile' };

export function ProfilesView() {
  const loaded = useLoaded((signal) => ask((http) => http.GET('/api/profiles', { signal })), []);
  return html`<div class="view page">
    <header class="page-head title-line">
      <h1>Profiles</h1>
      <div class="actions"><a class="button" href="#/check">Check a profile</a></div>
    </header>
    <div class="stack" aria-busy=${isBusy(loaded)}>
      ${whenLoaded(loaded, ({ profiles, rules }) => [profilesCard(profiles), rulesCard(rules)])}
    </div>
  </div>`;
}

/** @param {string} name */
const profileLink = (name) => html`<a href=${`#/profiles/${encodeURIComponent(name)}`}>${name}</a>`;

/** @param {Schemas['ProfileListProfile'][]} profiles */
function profilesCard(profiles) {
  const rows = profiles.map(({ name, origin, rungs, codecs }) => [
    profileLink(name),
    originTexts[origin] ?? origin,
    String(rungs),
    codecs.join(', '),
  ]);
  return card('All profiles', {}, tableOf('All profiles', ['Name', 'From', 'Rungs', 'Codecs'], rows));
}

/** @param {Schemas['ProfileListRule'][]} rules */
function rulesCard(rules) {
  const otherwise = 'Sources that no rule fits get the profile default.';
  if (rules.length === 0) return card('Rules', {}, html`<p class="soft">There are none. ${otherwise}</p>`);
  const rows = rules.map(({ profile, source_prefix: prefix, source_bytes_min: min, source_bytes_max: max }) => [
    prefix === null ? 'any' : html`<code>${prefix}…</code>`,
    sizesText(min, max),
    profileLink(profile),
  ]);
  return card(
    'Rules',
    {},
    html`<p class="soft">The first that fits a source decides. ${otherwise}</p>`,
    tableOf('Rules', ['Source', 'Size', 'Profile'], rows),
  );
}

/** @param {number | null} min @param {number | null} max */
function sizesText(min, max) {
  if (min === null && max === null) return 'any';
  const texts = [min === null ? '' : `from ${bytesText(min)}`, max === null ? '' : `up to ${bytesText(max)}`];
  return texts.filter((text) => text !== '').join(' ');
}
