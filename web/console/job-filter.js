import { jobAdvice } from './advice.js';
import { html } from './base.js';
import { pathWith, plainText, textsOf, withTexts } from './form.js';
import { jobTypes, localMinute, statuses } from './format.js';

// The filter of the list of jobs: as the address has it, as the API takes it, and its form.

/** @import { JobFilter, Navigate, Visit } from './types.ts' */

const codes = Object.keys(jobAdvice).filter((code) => code !== 'cancelled');
/** The whole id of a job. */
export const idPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Times that one chooses by a word: from the midnight of so many days ago, until another or, where it is negative, now.
 *
 * @type {Record<string, readonly [text: string, from: number, to: number]>}
 */
const spans = {
  today: ['Today', 0, -1],
  yesterday: ['Yesterday', 1, 0],
  week: ['The last 7 days', 6, -1],
};

/** Midnight of this place, so many days ago. @param {number} daysAgo */
function midnight(daysAgo, now = new Date()) {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).toISOString();
}

/** The times that the address asks for. @param {URLSearchParams} query @returns {Record<string, string>} */
function timesOf(query) {
  const span = spans[query.get('when') ?? ''];
  if (span === undefined)
    return { ...timeOf(query.get('from'), 'created_after'), ...timeOf(query.get('to'), 'created_before') };
  const [, from, to] = span;
  return { created_after: midnight(from), ...(to >= 0 && { created_before: midnight(to) }) };
}

/** @param {string | null} text @param {string} name @returns {Record<string, string>} */
const timeOf = (text, name) => {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? {} : { [name]: new Date(ms).toISOString() };
};

/** The filter that the address names; a field that it does not name excludes no job. @param {URLSearchParams} query @returns {JobFilter} */
export function filterOf(query) {
  const type = jobTypes.find((each) => each === query.get('type'));
  const status = statuses.find((each) => each === query.get('status'));
  const code = codes.find((each) => each === query.get('code'));
  const [hash, prefix] = [query.get('hash') ?? '', query.get('prefix') ?? ''];
  const given = {
    ...(type && { type }),
    ...(status && { status }),
    ...(code !== undefined && { code }),
    ...(hash !== '' && { hash }),
    ...(prefix !== '' && { prefix }),
    ...timesOf(query),
  };
  return /** @type {JobFilter} */ (given);
}

/** @param {JobFilter} filter @param {Visit} visit */
export function filterForm(filter, { query, navigate }) {
  const hasTimes = query.has('from') || query.has('to');
  const when = spans[query.get('when') ?? ''] ? query.get('when') : hasTimes || query.has('when') ? 'between' : '';
  const apply = (/** @type {Record<string, string>} */ { prefix = '', from = '', to = '', ...rest }) => {
    if (idPattern.test(prefix)) return navigate(`/jobs/${prefix.toLowerCase()}`);
    const isBetween = rest['when'] === 'between';
    // A link may name the whole hash: it stays until something else is written.
    const name = prefix === filter.hash ? 'hash' : 'prefix';
    navigate(
      pathWith('/jobs', {
        ...rest,
        ...(prefix !== '' && { [name]: prefix }),
        ...(isBetween && from !== '' && { from }),
        ...(isBetween && to !== '' && { to }),
      }),
    );
  };
  const onSubmit = withTexts(apply);
  // While one types a time, each part that is complete is a change.
  const onLeave = (/** @type {Event} */ { currentTarget }) => {
    if (!(currentTarget instanceof HTMLInputElement) || currentTarget.form === null) return;
    if (currentTarget.value !== currentTarget.defaultValue) apply(textsOf(currentTarget.form));
  };
  const choice = (
    /** @type {'status' | 'type' | 'code'} */ name,
    /** @type {string} */ label,
    /** @type {string} */ all,
    /** @type {string[]} */ choices,
  ) =>
    html`<label class="field inline" key=${name}>
      <span>${label}</span>
      <select name=${name} onChange=${onSubmit}>
        <option value="">${all}</option>
        ${choices.map((value) => html`<option value=${value} selected=${filter[name] === value}>${value}</option>`)}
      </select>
    </label>`;
  const time = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string | undefined} */ value) =>
    html`<label class="field inline time" key=${name}>
      <span>${label}</span>
      <input type="datetime-local" name=${name} onBlur=${onLeave}
        defaultValue=${value === undefined ? '' : localMinute(new Date(value))} />
    </label>`;
  return html`<form class="filters" aria-label="Filter" onSubmit=${onSubmit}>
    <label class="field inline wide">
      <span>Search</span>
      <input ...${plainText} name="prefix" type="search" defaultValue=${filter.prefix ?? filter.hash ?? ''}
        placeholder="Name of a media, or job id" maxlength="128" />
    </label>
    ${choice('status', 'Status', 'Every status', statuses)}
    ${choice('code', 'Error', 'Every error', codes)}
    ${choice('type', 'Type', 'Every type', jobTypes)}
    <label class="field inline" key="when">
      <span>Submitted</span>
      <select name="when" onChange=${onSubmit}>
        <option value="">At any time</option>
        ${Object.entries(spans).map(([value, [text]]) => html`<option value=${value} selected=${when === value}>${text}</option>`)}
        <option value="between" selected=${when === 'between'}>Between …</option>
      </select>
    </label>
    ${when === 'between' && [time('from', 'From', filter.created_after), time('to', 'To', filter.created_before)]}
    <button type="submit" class="unseen" tabindex="-1">Search</button>
  </form>`;
}
