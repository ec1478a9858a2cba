import { api } from './api.js';
import { h, redraw } from './dom.js';
import { reasonTextOf } from './format.js';
import { card, faultState, waited } from './parts.js';

// The runner pools: what runs, what waits and why.

const pollMs = 3000;

/** @returns `{node, destroy()}` */
export function poolsView() {
  const stopping = new AbortController();
  const { signal } = stopping;
  const body = h('div', { class: 'stack', 'aria-busy': 'true' });
  let drawn = '';

  const load = async () => {
    const { pools, counted_max: countedMax } = await api.pools(signal);
    const text = JSON.stringify(pools);
    if (text === drawn) return;
    drawn = text;
    redraw(body, ...pools.map((pool) => poolCard(pool, countedMax)));
    body.removeAttribute('aria-busy');
  };
  const open = async () => {
    try {
      await load();
    } catch (problem) {
      if (!signal.aborted) body.replaceChildren(faultState(problem, () => void open()));
    }
  };
  void open();
  const timer = setInterval(() => {
    if (drawn !== '' && !document.hidden) void load().catch(() => undefined);
  }, pollMs);
  const node = h(
    'div',
    { class: 'view page' },
    h('header', { class: 'page-head title-line' }, h('h1', {}, 'Pools')),
    body,
    h(
      'p',
      { class: 'soft foot' },
      'By the jobs of each pool. How many slots a pool has, the cluster knows: ',
      h('code', {}, 'reelwright pools'),
      '.',
    ),
  );
  return {
    node,
    destroy() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}

const number = (value) => value.toLocaleString('en');

function poolCard({ name, queue, running, waiting, oldest_waiting_at: oldest, reasons }, countedMax) {
  const isAll = waiting < countedMax;
  return card(
    name,
    { class: 'pool', dataset: { pool: name } },
    h('p', { class: 'soft' }, queue === null ? 'Jobs that ask for it.' : `Serves the queue ${queue}.`),
    h(
      'dl',
      { class: 'numbers' },
      h('div', {}, h('dt', {}, 'Running'), h('dd', {}, number(running))),
      h('div', {}, h('dt', {}, 'Waiting'), h('dd', {}, isAll ? number(waiting) : `${number(countedMax)} or more`)),
      oldest === null ? null : h('div', {}, h('dt', {}, 'Longest wait'), h('dd', {}, waited(oldest))),
    ),
    reasons.length === 0
      ? h('p', { class: 'soft' }, 'Nothing waits.')
      : h(
          'ul',
          { class: 'plain reasons', 'aria-label': `Why jobs of ${name} wait` },
          reasons.map((reason) => reasonOf(reason, waiting)),
        ),
  );
}

function reasonOf({ code, message, jobs, job_id: id }, waiting) {
  const text = reasonTextOf(code) ?? code;
  return h(
    'li',
    { dataset: { code } },
    h('span', { class: 'share', 'aria-hidden': 'true', vars: { '--share': `${(100 * jobs) / waiting}%` } }),
    h('strong', {}, jobs.toLocaleString('en')),
    h('span', {}, text, h('span', { class: 'soft reason-text' }, message)),
    h('a', { href: `#/jobs/${id}`, 'aria-label': `A job: ${text}` }, 'A job'),
  );
}
