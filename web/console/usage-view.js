import { useState } from 'preact/hooks';
import { ask } from './api.js';
import { html, useLoaded } from './base.js';
import { bytesText, durationText } from './format.js';
import { card, isBusy, numbers, shareBar, tableOf, whenLoaded } from './parts.js';

// What work came to: a bar for each day, and who and what it was for.

/** @import { Schemas } from './types.ts' */

/** @typedef {Schemas['UsageRow']} Row */
/** @typedef {'pod_seconds' | 'processor_seconds' | 'output_minutes' | 'jobs' | 'stored_bytes' | 'delivered_bytes'} Measure */

/** @type {Record<Measure, { name: string, text: (value: number) => string }>} */
const measures = {
  pod_seconds: { name: 'Pod time', text: (value) => durationText(1000 * value) },
  processor_seconds: { name: 'Processor time', text: (value) => durationText(1000 * value) },
  output_minutes: { name: 'Minutes of output', text: (value) => Math.round(value).toLocaleString('en') },
  jobs: { name: 'Jobs', text: (value) => value.toLocaleString('en') },
  stored_bytes: { name: 'Bytes stored', text: (value) => `${value < 0 ? '−' : ''}${bytesText(Math.abs(value))}` },
  delivered_bytes: { name: 'Bytes delivered', text: (value) => bytesText(value) },
};
const names = /** @type {Measure[]} */ (Object.keys(measures));
const dayMs = 86_400_000;

/** A month of UTC, so many before this one. @param {number} before @returns {[from: string, to: string]} */
function month(before) {
  const now = new Date();
  const [year, index] = [now.getUTCFullYear(), now.getUTCMonth() - before];
  return [dayOf(Date.UTC(year, index, 1)), dayOf(Math.min(Date.UTC(year, index + 1, 0), now.getTime()))];
}

/** The last days, today among them. @param {number} days @returns {[from: string, to: string]} */
const last = (days) => [dayOf(Date.now() - (days - 1) * dayMs), dayOf(Date.now())];

/** @type {Record<string, readonly [text: string, days: () => [from: string, to: string]]>} */
const spans = {
  7: ['The last 7 days', () => last(7)],
  30: ['The last 30 days', () => last(30)],
  90: ['The last 90 days', () => last(90)],
  365: ['The last 365 days', () => last(365)],
  'this-month': ['This month', () => month(0)],
  'last-month': ['Last month', () => month(1)],
};

/** @param {number} ms */
const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

/** The usage of a span, told apart. @param {string} span @param {string} by @param {AbortSignal} signal */
async function usageBy(span, by, signal) {
  const [from, to] = spans[span]?.[1]() ?? last(30);
  const usage = await ask((http) => http.GET('/api/usage', { params: { query: { from, to, by } }, signal }));
  if (typeof usage === 'string') throw new TypeError('CSV was not asked for');
  return usage;
}

export function UsageView() {
  const [span, setSpan] = useState('30');
  const [measure, setMeasure] = useState(/** @type {Measure} */ ('pod_seconds'));
  const byDay = useLoaded((signal) => usageBy(span, 'day', signal), [span]);
  const byKey = useLoaded((signal) => usageBy(span, 'key,type', signal), [span]);
  return html`<div class="view page">
    <header class="page-head title-line"><h1>Usage</h1>${choices({ span, setSpan, measure, setMeasure })}</header>
    <div class="stack" aria-busy=${isBusy(byDay)}>
      ${whenLoaded(byDay, (usage) => [totals(usage.rows), dayBars(usage, measure)])}
      ${whenLoaded(byKey, ({ rows }) => rows.length > 0 && keyTable(rows))}
    </div>
    <p class="soft foot">
      Days are those of UTC. What an attempt took counts on the day of its end. As CSV:
      <code>GET /api/usage?format=csv</code>.
    </p>
  </div>`;
}

/** @param {Event} event */
const chosenIn = (event) => /** @type {HTMLSelectElement} */ (event.currentTarget).value;

/** @param {{ span: string, setSpan: (span: string) => void, measure: Measure, setMeasure: (name: Measure) => void }} props */
function choices({ span, setSpan, measure, setMeasure }) {
  return html`<form class="filters" aria-label="What is shown">
    <label class="field inline"><span>Show</span>
      <select name="measure" onChange=${(/** @type {Event} */ event) => setMeasure(/** @type {Measure} */ (chosenIn(event)))}>
        ${names.map((name) => html`<option value=${name} selected=${name === measure}>${measures[name].name}</option>`)}
      </select></label>
    <label class="field inline"><span>Time</span>
      <select name="days" onChange=${(/** @type {Event} */ event) => setSpan(chosenIn(event))}>
        ${Object.entries(spans).map(([name, [text]]) => html`<option value=${name} selected=${name === span}>${text}</option>`)}
      </select></label>
  </form>`;
}

/** @param {readonly Row[]} rows */
function totals(rows) {
  const sum = (/** @type {Measure | 'wasted_seconds'} */ name) => rows.reduce((before, row) => before + row[name], 0);
  const wasted = sum('wasted_seconds');
  const pods = sum('pod_seconds');
  const share = pods === 0 ? '' : ` (${Math.round((100 * wasted) / pods)} %)`;
  return card(
    'In all',
    { class: 'usage-totals' },
    numbers([
      ...names.map((name) => /** @type {[string, string]} */ ([measures[name].name, measures[name].text(sum(name))])),
      ['Wasted pod time', `${durationText(1000 * wasted)}${share}`],
    ]),
  );
}

/** A bar for each day, the newest first. @param {Schemas['Usage']} usage @param {Measure} measure */
function dayBars({ rows, from, to }, measure) {
  const { name, text } = measures[measure];
  const values = new Map(rows.map((row) => [row.day ?? '', row[measure]]));
  const max = Math.max(1, ...values.values());
  const count = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
  const days = Array.from({ length: count }, (_, index) => dayOf(Date.parse(to) - index * dayMs));
  const shown = days.map((day) => {
    const value = values.get(day) ?? 0;
    return [day, html`<span>${text(value)}</span>${shareBar(Math.max(0, value) / max)}`];
  });
  return card(`${name} by day`, { 'data-usage': measure }, tableOf(`${name} by day`, ['Day', name], shown));
}

/** @param {readonly Row[]} rows */
function keyTable(rows) {
  const heads = ['API key', 'Type', ...names.map((name) => measures[name].name)];
  const cells = rows.map((row) => [
    row.key_name ?? row.key_id ?? 'none',
    row.type ?? '',
    ...names.map((name) => measures[name].text(row[name])),
  ]);
  return card('By API key', {}, tableOf('Usage by API key', heads, cells));
}
