import { api } from './api.js';
import { announce, confirmation, h, redraw } from './dom.js';
import { dateTimeText } from './format.js';
import { ago, card, facts, faultState, whileDisabled } from './parts.js';
import { countsBar, isActiveRollout, outcomeFacts, rolloutBadge, whichText } from './rollout-parts.js';

// The page of a rollout: what became of its media, its gate, its failures, and what one can do.

const pollMs = 2000;

/** @returns `{node, destroy()}` */
export function rolloutView({ id }) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const node = h('div', { class: 'view page', 'aria-busy': 'true' });
  const head = h('header', { class: 'page-head' });
  const body = h('div', { class: 'columns' });
  let drawn = '';
  let shown = null;

  const show = (rollout) => {
    const text = JSON.stringify(rollout);
    if (text === drawn) return;
    // Buttons are replaced only where others are offered, so that the focus stays.
    if (shown === null || stateOf(shown) !== stateOf(rollout)) head.replaceChildren(...headOf(rollout, show));
    redraw(body, ...bodyOf(rollout));
    if (drawn === '') node.replaceChildren(head, body);
    drawn = text;
    shown = rollout;
    node.removeAttribute('aria-busy');
  };
  const open = async () => {
    try {
      show(await api.rollout(id, signal));
    } catch (problem) {
      if (!signal.aborted) node.replaceChildren(faultState(problem, () => void open()));
    }
  };
  void open();
  const timer = setInterval(() => {
    if (shown === null || !isActiveRollout(shown) || document.hidden) return;
    void api.rollout(id, signal).then(show, () => undefined);
  }, pollMs);
  return {
    node,
    destroy() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}

const stateOf = ({ status, paused }) => `${status} ${paused}`;

const beginning = ['canary', 'running'];
/** The statuses in which each action is offered; the server decides. */
const offeredIn = {
  pause: beginning,
  resume: beginning,
  cancel: beginning,
  rollback: [...beginning, 'cancelling', 'completed', 'cancelled'],
};

const questions = {
  cancel: {
    title: 'Cancel this rollout?',
    text: 'Its active reruns are cancelled and no other begins. Streams that it made stay as they are. It cannot go on.',
    action: 'Cancel the rollout',
  },
  rollback: {
    title: 'Roll this rollout back?',
    text: 'Its active reruns are cancelled, and each media whose stream is still the one of the rollout plays its earlier one again. It cannot go on.',
    action: 'Roll back',
  },
};

function headOf(rollout, show) {
  const { status, paused, spec, rollout_id: id } = rollout;
  const button = (action, label, kind = '') => {
    if (!offeredIn[action].includes(status)) return null;
    const made = h('button', { type: 'button', class: `button ${kind}` }, label);
    made.addEventListener('click', () =>
      whileDisabled(made, async () => {
        const question = questions[action];
        if (question && !(await confirmation({ ...question, isDangerous: true }))) return;
        await api.changeRollout(id, action).then(show, (problem) => announce(problem.message, 'fault'));
      }),
    );
    return made;
  };
  return [
    h('p', { class: 'crumbs' }, h('a', { href: '#/rollouts' }, 'Rollouts'), ' /'),
    h(
      'div',
      { class: 'title-line' },
      h('h1', {}, `To ${spec.to_profile}`),
      rolloutBadge(rollout),
      h(
        'div',
        { class: 'actions' },
        paused ? button('resume', 'Resume', 'primary') : button('pause', 'Pause'),
        button('rollback', 'Roll back', 'danger'),
        button('cancel', 'Cancel', 'danger'),
      ),
    ),
  ];
}

function bodyOf(rollout) {
  const { media, reason } = rollout;
  return [
    h(
      'div',
      { class: 'stack' },
      card(
        'Media',
        {},
        reason ? h('p', { class: 'notice' }, reason) : null,
        rollout.is_planned ? null : h('p', { class: 'soft' }, 'Media are still being chosen: the counts grow.'),
        countsBar(media, 'Media of this rollout'),
        outcomeFacts(media),
      ),
      canaryCard(rollout),
      failuresCard(rollout),
    ),
    h('div', { class: 'stack side' }, specCard(rollout)),
  ].filter(Boolean);
}

/** Limits of the gate that are set, as the request named them. */
const limitTexts = {
  max_failure_share: 'Failures, share at most',
  max_bytes_ratio: 'Bytes after over before, at most',
  min_score: 'Mean score, at least',
};

function canaryCard({ canary, gate, spec }) {
  if (canary === null) return null;
  const verdict = gate === null ? 'is not judged yet' : gate.passed ? 'has passed' : 'has failed';
  return card(
    `The gate ${verdict}`,
    { class: `gate ${gate?.passed === false ? 'error-card' : ''}`, dataset: { passed: String(gate?.passed ?? '') } },
    gate === null || gate.passed
      ? null
      : h(
          'ul',
          { class: 'plain' },
          gate.failures.map((text) => h('li', {}, text)),
        ),
    countsBar(canary, 'Media of the canary'),
    outcomeFacts(canary),
    h('h3', {}, 'Limits'),
    facts([
      ['Share of the media', String(spec.canary.share)],
      ...Object.entries(limitTexts).map(([name, text]) => [text, spec.canary[name]?.toString()]),
    ]),
  );
}

function failuresCard({ failures }) {
  if (failures.length === 0) return null;
  return card(
    'Last failures',
    {},
    h(
      'ul',
      { class: 'job-list' },
      failures.map(({ hash, job_id: jobId, reason }) =>
        h(
          'li',
          {},
          h('a', { class: 'mono', href: jobId ? `#/jobs/${jobId}` : `#/media/${encodeURIComponent(hash)}` }, hash),
          h('span', { class: 'soft' }, reason),
        ),
      ),
    ),
  );
}

function specCard(rollout) {
  const { spec, not_chosen: skipped } = rollout;
  const { jobs, hours_per_day: hours } = spec.budget;
  const left = Object.entries(skipped).filter(([, number]) => number > 0);
  return card(
    'Rollout',
    {},
    facts([
      ['Which', whichText(spec.which)],
      ['To profile', h('a', { href: `#/profiles/${encodeURIComponent(spec.to_profile)}` }, spec.to_profile)],
      ['Reruns at once', String(jobs)],
      ['Hours today', hours ? `${rollout.hours_today} of ${hours}` : String(rollout.hours_today)],
      ['Not chosen', left.map(([why, number]) => `${number} ${why.replaceAll('_', ' ')}`).join(', ')],
      ['Started', h('span', {}, `${dateTimeText(rollout.created_at)} (`, ago(rollout.created_at), ')')],
      ['Ended', rollout.finished_at ? dateTimeText(rollout.finished_at) : null],
      ['Id', h('code', { class: 'break' }, rollout.rollout_id)],
    ]),
  );
}
