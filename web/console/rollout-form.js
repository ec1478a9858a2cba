import { useState } from 'preact/hooks';
import { api, has } from './api.js';
import { html, useLoaded } from './base.js';
import { announce } from './dialogs.js';
import { plainText, useForm } from './form.js';
import { card } from './parts.js';

// The form that starts a rollout. Numbers go to the server as they are written, which says what is wrong with them.

/**
 * @import { Field } from './form.js'
 * @import { Schemas } from '#clients/typescript/src/index.ts'
 * @typedef {Schemas['CreateRolloutRequest']} Request
 * @typedef {ReturnType<typeof useForm>} Form
 */

/** @type {(Field & { value?: string, isNumber?: boolean, type?: string, list?: string })[]} */
const planFields = [
  { name: 'to_profile', label: 'To profile', pointer: '/to_profile', list: 'profile-names' },
  { name: 'hash_prefix', label: 'Media whose hash begins with', pointer: '/which/hash_prefix' },
  { name: 'which_profile', label: 'Made by the profile', pointer: '/which/profile', list: 'profile-names' },
  { name: 'made_before', label: 'Made before', pointer: '/which/made_before', type: 'datetime-local' },
  { name: 'jobs', label: 'Reruns at once', pointer: '/budget/jobs', value: '1' },
  { name: 'hours_per_day', label: 'Hours a day', pointer: '/budget/hours_per_day', value: '' },
];
/** @type {typeof planFields} */
const canaryFields = [
  { name: 'share', label: 'Share of the media', pointer: '/canary/share', value: '0.02' },
  {
    name: 'max_failure_share',
    label: 'Share of failures, at most',
    pointer: '/canary/max_failure_share',
    value: '0.05',
  },
  {
    name: 'max_bytes_ratio',
    label: 'Bytes after over bytes before, at most',
    pointer: '/canary/max_bytes_ratio',
    value: '',
  },
  { name: 'min_score', label: 'Mean score, at least', pointer: '/canary/min_score', value: '' },
];
/** @type {Record<string, string>} */
const hints = {
  to_profile: 'As it is now: a later change of the profile needs another rollout.',
  hash_prefix: 'Empty: every hash.',
  which_profile: 'Empty: any profile.',
  made_before: 'Then also streams that the profile made already.',
  hours_per_day: 'Empty: no limit.',
  share: '0.02 is one of fifty; one at least.',
  max_bytes_ratio: 'Empty: sizes are not judged.',
  min_score: 'Empty: not judged.',
};
const allFields = [...planFields, ...canaryFields].map((field) => ({ ...field, hint: hints[field.name] ?? '' }));

/** @param {{ navigate: (path: string) => void, query: URLSearchParams }} props */
export function RolloutForm({ navigate, query }) {
  const form = useForm(allFields);
  const [isSending, setSending] = useState(false);
  const [isWithCanary, setWithCanary] = useState(true);
  const { data: known } = useLoaded(
    async (signal) => (has('GET /api/profiles') ? await api.profiles(signal) : null),
    [],
  );
  const start = async () => {
    if (!form.isComplete()) return;
    setSending(true);
    try {
      const { rollout_id: id } = await api.beginRollout(bodyOf(form, isWithCanary));
      announce('The rollout has begun.');
      navigate(`/rollouts/${id}`);
    } catch (problem) {
      form.refuse(problem);
    } finally {
      setSending(false);
    }
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void start();
  };
  const inputOf = (/** @type {(typeof planFields)[number]} */ { name, value, type = 'text', list }) =>
    form.field(name, (attributes) => {
      const first = name === 'to_profile' ? (query.get('profile') ?? '') : (value ?? '');
      const more = {
        ...plainText,
        ...attributes,
        type,
        ...(list && { list }),
        ...(value !== undefined && { inputmode: 'decimal' }),
      };
      return html`<input ...${more} defaultValue=${first} />`;
    });
  return html`<div class="view page narrow">
    <header class="page-head">
      <p class="crumbs"><a href="#/rollouts">Rollouts</a> /</p>
      <h1>Start a rollout</h1>
    </header>
    ${card(
      'Rollout',
      {},
      html`<form ref=${form.form} class="form" novalidate onSubmit=${onSubmit}>
        ${planFields.map(inputOf)}
        <datalist id="profile-names">
          ${known?.profiles.map(({ name }) => html`<option value=${name}></option>`)}
        </datalist>
        <p class="check">
          <input type="checkbox" id="with-canary" checked=${isWithCanary}
            onChange=${() => setWithCanary((before) => !before)} />
          <label for="with-canary">Make a canary first</label>
        </p>
        <fieldset class="fields" hidden=${!isWithCanary}>
          <legend>Canary and its gate</legend>
          ${canaryFields.map(inputOf)}
        </fieldset>
        ${form.summary}
        <button type="submit" class="button primary" disabled=${isSending}>Start the rollout</button>
      </form>`,
    )}
  </div>`;
}

/**
 * Empty fields are left out; what is no number goes as it is written.
 *
 * @param {Form} form @param {boolean} isWithCanary @returns {Request}
 */
function bodyOf(form, isWithCanary) {
  const which = {
    ...given(form, { hash_prefix: 'hash_prefix', profile: 'which_profile' }, (text) => text),
    ...given(form, { made_before: 'made_before' }, (text) => new Date(text).toISOString()),
  };
  const numbers = (/** @type {string[]} */ ...names) =>
    given(form, Object.fromEntries(names.map((name) => [name, name])), numberOf);
  const budget = numbers('jobs', 'hours_per_day');
  const canary = numbers(...canaryFields.map(({ name }) => name));
  const body = { to_profile: form.text('to_profile'), which, budget, ...(isWithCanary ? { canary } : {}) };
  return /** @type {Request} */ (body);
}

/** @param {string} text */
const numberOf = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);

/**
 * What is written in fields, by the names of the request.
 *
 * @template Value
 * @param {Form} form @param {Record<string, string>} names @param {(text: string) => Value} read
 */
function given(form, names, read) {
  const texts = Object.entries(names).map(([key, name]) => /** @type {const} */ ([key, form.text(name)]));
  return Object.fromEntries(texts.filter(([, text]) => text !== '').map(([key, text]) => [key, read(text)]));
}
