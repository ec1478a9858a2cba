import { h } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { statusOf, textOf } from './api.js';
import { html } from './base.js';
import { announce, announceProblem } from './dialogs.js';
import { agoText, dateTimeText, doingText, durationText, isActive } from './format.js';
import { isUnreached } from './reach.js';

// Parts that several views show.

/** @import { AnyJob, ComponentChildren, Feed, Loaded, VNode } from './types.ts' */

/** An icon of lines on a field of 24 × 24. @param {string} path */
export const icon = (path) => html`<svg viewBox="0 0 24 24" aria-hidden="true" class="icon"><path d=${path} /></svg>`;

/** A dot and a word: the colour alone says nothing. @param {string} status */
export const statusBadge = (status) => html`<span class="badge" data-status=${status}>${status}</span>`;

/** The bar of an active job, with what it is doing or why it waits. @param {AnyJob} job */
export function progressBar(job) {
  const waits = job.reason !== null || job.status === 'queued';
  return html`<span class="progress" data-waits=${String(waits)}>
    <span class="bar" role="progressbar" aria-label=${`Progress of ${job.hash}`} aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${job.progress} style=${{ '--share': `${job.progress}%` }}><span class="fill"></span></span>
    <span class="percent">${job.progress} %</span>
    <span class="doing" title=${job.reason?.message ?? ''}>${doingText(job)}</span>
  </span>`;
}

/** A job's progress in a list: the bar, the error's code, or nothing. @param {AnyJob} job */
export function outcome(job) {
  if (isActive(job)) return progressBar(job);
  if (job.status === 'failed') return html`<span class="doing fault">${job.error?.code ?? 'failed'}</span>`;
  return html`<span class="doing">${job.callback_status === 'callback_failed' ? 'webhook not delivered' : ''}</span>`;
}

/**
 * A card with a heading.
 *
 * @param {string} title
 * @param {{ actions?: VNode | null, class?: string, [attribute: `data-${string}`]: string }} props
 * @param {ComponentChildren[]} children
 */
export function card(title, { actions = null, class: name = '', ...rest }, ...children) {
  return html`<section ...${rest} class=${`card ${name}`}>
    <header class="card-head"><h2>${title}</h2>${actions}</header>
    ${children}
  </section>`;
}

/** Names and values; empty values are left out. @param {[name: string, value: ComponentChildren][]} entries */
export function facts(entries) {
  const known = entries.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return html`<dl class="facts">
    ${known.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/**
 * The strings that a caller gave a job or media, as facts; none of a server of an earlier version.
 *
 * @param {Readonly<Record<string, string>>} [metadata] @returns {[name: string, value: string][]}
 */
export const metadataFacts = (metadata = {}) => Object.entries(metadata);

/** Large numbers with their names. @param {[name: string, value: ComponentChildren][]} entries */
export const numbers = (entries) =>
  html`<dl class="numbers">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** @param {string} title @param {string} text @param {ComponentChildren[]} more */
export const emptyState = (title, text, ...more) =>
  html`<div class="empty"><h2>${title}</h2><p>${text}</p>${more}</div>`;

/** A view that could not be loaded. @param {unknown} problem @param {() => unknown} retry */
export const faultState = (problem, retry) =>
  html`<div class="empty" role="alert">
    <h2>${statusOf(problem) === 404 ? 'Not found' : 'This could not be loaded'}</h2>
    <p>${textOf(problem)}</p>
    <button type="button" class="button primary" onClick=${() => void retry()}>Try again</button>
  </div>`;

/**
 * Shows what was read, the fault, or nothing yet.
 *
 * @template Data
 * @param {Loaded<Data>} loaded
 * @param {(data: Data) => ComponentChildren} show
 */
export function whenLoaded({ data, problem, reload }, show) {
  if (data !== null) return show(data);
  return problem === null ? null : faultState(problem, reload);
}

/**
 * The end of a list: that it is empty, a fault, and the button that goes on.
 *
 * @param {Feed<unknown> & { loadMore: () => Promise<void> }} feed @param {() => VNode} empty
 */
export function feedEnd({ items, isRead, isWhole, problem, loadMore }, empty) {
  const isEmpty = isRead && items.length === 0;
  return html`
    <div>${problem === null ? isEmpty && empty() : faultState(problem, loadMore)}</div>
    <p class="more">${isRead && !isWhole && action('Show more', loadMore)}</p>`;
}

/** Whether nothing was read yet. @param {Loaded<unknown>} loaded */
export const isBusy = ({ data, problem }) => data === null && problem === null;

/**
 * A button that is disabled while it does what it is for, and has the focus again then. A fault is announced.
 *
 * @param {{ label: string, run: () => Promise<unknown>, kind?: string, type?: string, name?: string }} props
 */
function ActionButton({ label, run, kind = '', name }) {
  const [isRunning, setRunning] = useState(false);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    if (isRunning || !hadFocus.current || document.activeElement !== document.body) return;
    button.current?.focus({ preventScroll: true });
  }, [isRunning]);
  const onClick = async () => {
    hadFocus.current = document.activeElement === button.current;
    setRunning(true);
    await run().catch(announceProblem);
    setRunning(false);
  };
  return html`<button ref=${button} type="button" class=${`button ${kind}`} aria-label=${name} disabled=${isRunning}
    onClick=${() => void onClick()}>${label}</button>`;
}

/**
 * A button; of one whose label changes, `key` keeps the focus.
 *
 * @param {string} label @param {() => Promise<unknown>} run
 */
export const action = (label, run, kind = '', key = label) => h(ActionButton, { key, label, run, kind });

/** A button that copies `text()`. @param {string} name @param {() => string} text */
export function copyButton(name, text) {
  const run = () =>
    navigator.clipboard.writeText(text()).then(
      () => announce('Copied.'),
      () => announce('The browser does not allow to copy here; select the text instead.', 'fault'),
    );
  return h(ActionButton, { label: 'Copy', run, kind: 'small', name });
}

const renewMs = 5000;

/** @param {{ time: string, write: (time: string) => string }} props */
function Since({ time, write }) {
  const [, renew] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!isUnreached()) renew((count) => count + 1);
    }, renewMs);
    return () => clearInterval(timer);
  }, []);
  return html`<time datetime=${time} title=${dateTimeText(time)}>${write(time)}</time>`;
}

/** `5 min ago`, which stays true. @param {string} time */
export const ago = (time) => h(Since, { time, write: agoText });

/** @param {string} time */
const waitedText = (time) => durationText(Date.now() - Date.parse(time));
/** `5 min` from a time until now. @param {string} time */
export const waited = (time) => h(Since, { time, write: waitedText });

/** A bar against the highest value, from 0 to 1. @param {number} share */
export const shareBar = (share) =>
  html`<span class="bits" style=${{ '--share': `${100 * share}%` }} aria-hidden="true"></span>`;

/** A text that scrolls by itself. @param {string} label @param {string} text */
export const preformatted = (label, text) => html`<pre tabindex="0" role="region" aria-label=${label}>${text}</pre>`;

/**
 * A table of texts or elements that scrolls by itself where it is too wide.
 *
 * @param {string} label @param {readonly string[]} names @param {readonly ComponentChildren[][]} rows
 */
export const tableOf = (label, names, rows) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;
