import { html } from './base.js';
import { bytesText, dateTimeText } from './format.js';
import { facts } from './parts.js';

// What the list and the page of rollouts both show.

/** @import { Rollout, RolloutMedia, RolloutPlan } from './types.ts' */

const activeStatuses = ['canary', 'running', 'cancelling', 'rolling_back'];

/** @param {Pick<Rollout, 'status'>} rollout */
export const isActiveRollout = ({ status }) => activeStatuses.includes(status);

/** A status in the colours of the jobs' ones. @param {Rollout} rollout */
export function rolloutBadge({ status, paused }) {
  const text = status.replace('_', ' ');
  const kind = activeStatuses.includes(status) ? 'processing' : status;
  return html`<span class="badge" data-status=${paused ? 'queued' : kind}>${paused ? `${text}, paused` : text}</span>`;
}

const segments = /** @type {const} */ (['done', 'running', 'failed', 'rolled_back', 'kept', 'skipped', 'planned']);

/** A bar of what became of the media, and the same in words. @param {RolloutMedia} media @param {string} label */
export function countsBar(media, label) {
  const all = segments.reduce((sum, name) => sum + media[name], 0);
  const shown = segments.filter((name) => media[name] > 0);
  return html`<div class="counts">
    <div class="segments" aria-hidden="true">
      ${shown.map((name) => html`<span data-name=${name} style=${{ '--share': String(media[name] / all) }}></span>`)}
    </div>
    <ul class="plain legend" aria-label=${label}>
      ${shown.length === 0 && html`<li class="soft">no media yet</li>`}
      ${shown.map(
        (name) => html`<li data-name=${name}>
          <strong>${media[name].toLocaleString('en')}</strong> ${name.replace('_', ' ')}
        </li>`,
      )}
    </ul>
  </div>`;
}

/** `saved 3.1 GB of 7.2 GB (43 %)`; null before a size is known. @param {RolloutMedia} media */
export function savedText({ bytes: { before, saved } }) {
  if (before === 0) return null;
  const share = `${Math.round((100 * Math.abs(saved)) / before)} %`;
  return saved < 0
    ? `${bytesText(-saved)} more than ${bytesText(before)} (${share})`
    : `${bytesText(saved)} of ${bytesText(before)} (${share})`;
}

/** @param {number | null} value */
const scoreText = (value) => value?.toFixed(1) ?? null;

/** Sizes and scores of a group of media. @param {RolloutMedia} media */
export function outcomeFacts(media) {
  const { mean, before, after } = media.score;
  return facts([
    ['Bytes saved', savedText(media) ?? 'not known'],
    ['Mean score', scoreText(mean) ?? 'not known'],
    ['Score before and after', before === null ? null : `${scoreText(before)} before, ${scoreText(after)} after`],
  ]);
}

/** How the canary was judged, in a few words; null without one. @param {Rollout} rollout */
export function gateText({ canary, gate }) {
  if (canary === null) return null;
  if (gate === null) return 'canary is being made';
  return gate.passed ? 'canary passed its gate' : 'canary failed its gate';
}

/** Which media a rollout is of. @param {Rollout['spec']['which']} which */
export function whichText({ hash_prefix: prefix, profile, made_before: before }) {
  const texts = [
    prefix ? `whose hash begins with ${prefix}` : '',
    profile ? `made by ${profile}` : '',
    before ? `made before ${dateTimeText(before)}` : '',
  ].filter((text) => text !== '');
  return texts.length === 0 ? 'Every media with a stream' : `Media ${texts.join(', ')}`;
}

const estimateTexts = {
  profile: 'as the profile took in the last 30 days',
  present_streams: 'as the present streams took',
};

/** @param {number} hours */
const hoursText = (hours) => `${hours.toLocaleString('en', { maximumFractionDigits: 1 })} h`;

/** The facts of a plan: what a rollout would make again. @param {RolloutPlan} plan */
export function planFacts(plan) {
  const { is_whole: isWhole, media, looked_at: lookedAt, unmeasured, bytes, processor_hours: hours } = plan;
  const skipped = Object.entries(plan.not_chosen).map(([why, number]) => `${number} ${why.replaceAll('_', ' ')}`);
  const unknown = unmeasured === 0 ? '' : `, and ${unmeasured.toLocaleString('en')} media of unknown length`;
  const from = plan.estimated_from === null ? null : estimateTexts[plan.estimated_from];
  return facts([
    [
      'Media',
      `${isWhole ? '' : 'at least '}${media.toLocaleString('en')} of ${lookedAt.toLocaleString('en')} looked at`,
    ],
    ['Not chosen', skipped.join(', ')],
    ['Length of the sources', `${hoursText(plan.source_hours)}${unknown}`],
    ['Bytes now', bytesText(bytes.now)],
    ['Bytes after', bytes.expected === null ? 'not known' : `about ${bytesText(bytes.expected)}`],
    ['Processor time', hours === null ? 'not known' : `about ${hoursText(hours)}, ${from}`],
  ]);
}
