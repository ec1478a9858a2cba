import { useState } from 'preact/hooks';
import { ask, findProfiles } from './api.js';
import { html, useLatest, useLoaded } from './base.js';
import { announce } from './dialogs.js';
import { useForm } from './form.js';
import { card } from './parts.js';
import { planFacts } from './rollout-parts.js';

// The form that starts a rollout, once it has shown what the rollout would make again. Numbers go to the server as they are written, which says what is wrong with them.

/** @import { Field, Form, RolloutPlan, RolloutRequest, Visit } from './types.ts' */

const number = (value = '') => ({ inputmode: 'decimal', defaultValue: value });
const profile = { list: 'profile-names' };
const prefixHint = 'Empty: every hash.';
const beforeHint = 'With a date, streams made earlier with the same profile are made again too.';

/** @type {readonly Field[]} */
const mediaFields = [
  ['hash_prefix', 'Media whose hash begins with', '/which/hash_prefix', prefixHint],
  ['which_profile', 'Made by the profile', '/which/profile', 'Empty: any profile.', profile],
  ['made_before', 'Made before', '/which/made_before', beforeHint, { type: 'datetime-local' }],
];
/** @type {readonly Field[]} */
const budgetFields = [
  ['jobs', 'Jobs at once', '/budget/jobs', '', number('1')],
  ['hours_per_day', 'Hours of work a day', '/budget/hours_per_day', 'Empty: no limit.', number()],
];
const noSizes = 'Empty: sizes are not judged.';
const shareHint = '0.02 is one of fifty. At least one media is made.';
/** @type {readonly Field[]} */
const canaryFields = [
  ['share', 'Share of the media', '/canary/share', shareHint, number('0.02')],
  ['max_failure_share', 'Share of failures, at most', '/canary/max_failure_share', '', number('0.05')],
  ['max_bytes_ratio', 'New size, at most this part of the old', '/canary/max_bytes_ratio', noSizes, number()],
  ['min_score', 'Mean score, at least', '/canary/min_score', 'Empty: not judged.', number()],
];
const targetHint = 'Uses the profile as it is today.';

/** @param {Visit} visit */
export function RolloutForm({ navigate, query }) {
  const first = { ...profile, defaultValue: query.get('profile') ?? '' };
  /** @type {readonly Field[]} */
  const planFields = [['to_profile', 'To profile', '/to_profile', targetHint, first], ...mediaFields, ...budgetFields];
  const form = useForm([...planFields, ...canaryFields]);
  const [isSending, setSending] = useState(false);
  const [isWithCanary, setWithCanary] = useState(true);
  const [plan, setPlan] = useState(/** @type {RolloutPlan | null} */ (null));
  const { data: known } = useLoaded(findProfiles, []);
  const begin = useLatest();
  const forgetPlan = () => {
    begin();
    setPlan(null);
  };
  // What was planned is what is started: a change of the form asks for another plan.
  const send = async () => {
    if (!form.isComplete()) return;
    setSending(true);
    const signal = begin();
    const body = bodyOf(form, isWithCanary);
    try {
      if (plan === null) {
        const planned = await ask((http) => http.POST('/api/rollouts/plan', { body, signal }));
        if (!signal.aborted) setPlan(planned);
        return;
      }
      const { rollout_id: id } = await ask((http) => http.POST('/api/rollouts', { body }));
      announce('The rollout has begun.');
      navigate(`/rollouts/${id}`);
    } catch (problem) {
      if (plan !== null || !signal.aborted) form.refuse(problem);
    } finally {
      setSending(false);
    }
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void send();
  };
  return html`<div class="view page narrow">
    <header class="page-head">
      <p class="crumbs"><a href="#/rollouts">Rollouts</a> /</p>
      <h1>Start a rollout</h1>
    </header>
    ${card(
      'Rollout',
      {},
      html`<form ref=${form.form} class="form" novalidate onSubmit=${onSubmit}
        onInput=${forgetPlan}>
        ${planFields.map((field) => form.field(field))}
        <datalist id="profile-names">
          ${known?.profiles.map(({ name }) => html`<option value=${name}></option>`)}
        </datalist>
        <p class="check">
          <input type="checkbox" id="with-canary" checked=${isWithCanary}
            onChange=${() => setWithCanary((before) => !before)} />
          <label for="with-canary">Make a canary first: a small share, which must pass before the rest is made</label>
        </p>
        <fieldset class="fields" hidden=${!isWithCanary}>
          <legend>Canary and its gate</legend>
          ${canaryFields.map((field) => form.field(field))}
        </fieldset>
        ${form.summary}
        ${plan !== null && html`<section class="plan" aria-label="Plan" aria-live="polite">${planFacts(plan)}</section>`}
        <button type="submit" class="button primary" disabled=${isSending}>
          ${plan === null ? 'Show the plan' : 'Start the rollout'}
        </button>
      </form>`,
    )}
  </div>`;
}

/**
 * Empty fields are left out; what is no number goes as it is written.
 *
 * @param {Form} form @param {boolean} isWithCanary @returns {RolloutRequest}
 */
function bodyOf(form, isWithCanary) {
  const numbers = (/** @type {readonly Field[]} */ fields) =>
    Object.fromEntries(
      fields
        .map(([name]) => /** @type {const} */ ([name, form.text(name)]))
        .filter(([, text]) => text !== '')
        .map(([name, text]) => [name, Number.isFinite(Number(text)) ? Number(text) : text]),
    );
  const [prefix, made, before] = mediaFields.map(([name]) => form.text(name));
  const which = {
    ...(prefix && { hash_prefix: prefix }),
    ...(made && { profile: made }),
    ...(before && { made_before: new Date(before).toISOString() }),
  };
  const canary = isWithCanary ? { canary: numbers(canaryFields) } : {};
  const body = { to_profile: form.text('to_profile'), which, budget: numbers(budgetFields), ...canary };
  return /** @type {RolloutRequest} */ (body);
}
