import { h } from './dom.js';
import { agoText, dateTimeText, doingText, durationText, isActive } from './format.js';

// Parts that several views show.

/** A dot and a word: the colour alone says nothing. */
export const statusBadge = (status) => h('span', { class: 'badge', dataset: { status } }, status);

/** The bar of an active job, with what it is doing or why it waits. */
export function progressBar(job) {
  const doing = doingText(job);
  return h(
    'span',
    { class: 'progress', dataset: { waits: String(Boolean(job.reason) || job.status === 'queued') } },
    h(
      'span',
      {
        class: 'bar',
        role: 'progressbar',
        'aria-label': `Progress of ${job.hash}`,
        'aria-valuemin': 0,
        'aria-valuemax': 100,
        'aria-valuenow': job.progress,
        vars: { '--share': `${job.progress}%` },
      },
      h('span', { class: 'fill' }),
    ),
    h('span', { class: 'percent' }, `${job.progress} %`),
    h('span', { class: 'doing', title: job.reason?.message ?? '' }, doing),
  );
}

/** What a list shows of a job's progress: the bar, the error's code, or nothing. */
export function outcome(job) {
  if (isActive(job)) return progressBar(job);
  if (job.status === 'failed') return h('span', { class: 'doing fault' }, job.error?.code ?? 'failed');
  return h('span', { class: 'doing' }, job.callback_status === 'callback_failed' ? 'webhook not delivered' : '');
}

/** A card with a heading. */
export function card(title, props, ...children) {
  const { actions = null, ...rest } = props ?? {};
  return h(
    'section',
    { ...rest, class: `card ${rest.class ?? ''}` },
    h('header', { class: 'card-head' }, h('h2', {}, title), actions),
    ...children,
  );
}

/** Names and values; null values are left out. */
export function facts(entries) {
  return h(
    'dl',
    { class: 'facts' },
    entries
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
}

export const emptyState = (title, text, ...more) =>
  h('div', { class: 'empty' }, h('h2', {}, title), h('p', {}, text), ...more);

/** A view that could not be loaded. */
export function faultState(problem, retry) {
  return h(
    'div',
    { class: 'empty', role: 'alert' },
    h('h2', {}, problem.status === 404 ? 'Not found' : 'This could not be loaded'),
    h('p', {}, problem.message),
    retry ? h('button', { type: 'button', class: 'button primary', onclick: retry }, 'Try again') : null,
  );
}

/** Runs what a button does: it is disabled meanwhile, and has the focus again then. */
export async function whileDisabled(button, run) {
  const hadFocus = document.activeElement === button;
  button.disabled = true;
  try {
    await run();
  } finally {
    button.disabled = false;
    if (hadFocus && document.activeElement === document.body) button.focus({ preventScroll: true });
  }
}

const sinceTexts = {
  ago: agoText,
  waited: (time) => durationText(Date.now() - Date.parse(time)),
};

const since = (kind, time) =>
  h('time', { datetime: time, title: dateTimeText(time), dataset: { since: kind } }, sinceTexts[kind](time));

/** `5 min ago`, which `renewTimes` keeps true. */
export const ago = (time) => since('ago', time);

/** `5 min` from a time until now. */
export const waited = (time) => since('waited', time);

export function renewTimes() {
  for (const node of document.querySelectorAll('time[data-since]')) {
    const text = sinceTexts[node.dataset.since](node.dateTime);
    if (node.textContent !== text) node.textContent = text;
  }
}

/** A table of texts or nodes that scrolls by itself where it is too wide. */
export function tableOf(label, names, rows) {
  return h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          names.map((name) => h('th', { scope: 'col' }, name)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((cells) =>
          h(
            'tr',
            {},
            cells.map((cell) => h('td', {}, cell)),
          ),
        ),
      ),
    ),
  );
}
