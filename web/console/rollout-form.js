import { api, has } from './api.js';
import { announce, h } from './dom.js';
import { field, incomplete, showFaults } from './form.js';
import { card } from './parts.js';

// The form that starts a rollout. Numbers go to the server as they are written, which says what is wrong with them.

/** @returns `{node, destroy()}` */
export function rolloutForm({ navigate, query }) {
  const fields = fieldsOf(query.get('profile') ?? '');
  const all = Object.values(fields);
  const summary = h('p', { class: 'fault', role: 'alert', hidden: true });
  const start = h('button', { type: 'submit', class: 'button primary' }, 'Start the rollout');
  const withCanary = h('input', { type: 'checkbox', id: 'with-canary', checked: true });
  const canary = h(
    'fieldset',
    { class: 'fields' },
    h('legend', {}, 'Canary and its gate'),
    ['share', 'failures', 'bytes', 'score', 'drop'].map((name) => fields[name].node),
  );
  withCanary.addEventListener('change', () => (canary.hidden = !withCanary.checked));

  const onsubmit = async (event) => {
    event.preventDefault();
    summary.hidden = true;
    const unread = incomplete(all);
    showFaults(all, unread);
    if (unread.length > 0) return;
    start.disabled = true;
    try {
      const { rollout_id: id } = await api.beginRollout(bodyOf(fields, withCanary.checked));
      announce('The rollout has begun.');
      navigate(`/rollouts/${id}`);
    } catch (problem) {
      const rest = showFaults(all, problem.faults ?? []);
      const isMarked = (problem.faults ?? []).length > 0 && rest.length === 0;
      summary.textContent = isMarked ? 'Correct the marked fields.' : [problem.message, ...rest].join(' ');
      summary.hidden = false;
    } finally {
      start.disabled = false;
    }
  };
  const node = h(
    'div',
    { class: 'view page narrow' },
    h(
      'header',
      { class: 'page-head' },
      h('p', { class: 'crumbs' }, h('a', { href: '#/rollouts' }, 'Rollouts'), ' /'),
      h('h1', {}, 'Start a rollout'),
    ),
    card(
      'Rollout',
      {},
      h(
        'form',
        { class: 'form', novalidate: true, onsubmit },
        ['profile', 'prefix', 'made', 'before', 'jobs', 'hours', 'cores'].map((name) => fields[name].node),
        h('p', { class: 'check' }, withCanary, h('label', { for: 'with-canary' }, 'Make a canary first')),
        canary,
        summary,
        start,
      ),
    ),
  );
  return { node, destroy() {} };
}

const text = (name, more = {}) => h('input', { name, autocomplete: 'off', spellcheck: 'false', ...more });
const number = (name, value = '') => text(name, { inputmode: 'decimal', value });
const make = (label, input, pointer, hint = '') => field({ label, input, hint, pointers: [pointer] });

function fieldsOf(profile) {
  const names = h('datalist', { id: 'profile-names' });
  if (has('GET /api/profiles'))
    void api.profiles().then(
      ({ profiles }) => names.replaceChildren(...profiles.map((each) => h('option', { value: each.name }))),
      () => undefined,
    );
  const fields = {
    profile: make(
      'To profile',
      text('to_profile', { value: profile, list: 'profile-names' }),
      '/to_profile',
      'As it is now: a later change of the profile needs another rollout.',
    ),
    prefix: make('Media whose hash begins with', text('hash_prefix'), '/which/hash_prefix', 'Empty: every hash.'),
    made: make(
      'Made by the profile',
      text('which_profile', { list: 'profile-names' }),
      '/which/profile',
      'Empty: any profile.',
    ),
    before: make(
      'Made before',
      text('made_before', { type: 'datetime-local' }),
      '/which/made_before',
      'Then also streams that the profile made already.',
    ),
    jobs: make('Reruns at once', number('jobs', '1'), '/budget/jobs'),
    hours: make('Hours a day', number('hours_per_day'), '/budget/hours_per_day', 'Empty: no limit.'),
    share: make('Share of the media', number('share', '0.02'), '/canary/share', '0.02 is one of fifty; one at least.'),
    failures: make('Share of failures, at most', number('max_failure_share', '0.05'), '/canary/max_failure_share'),
    bytes: make(
      'Bytes after over bytes before, at most',
      number('max_bytes_ratio'),
      '/canary/max_bytes_ratio',
      'Empty: sizes are not judged.',
    ),
    score: make('Mean score, at least', number('min_score'), '/canary/min_score', 'Empty: not judged.'),
  };
  fields.profile.node.append(names);
  return fields;
}

/** Empty fields are left out; what is no number goes as it is written. */
function bodyOf(fields, isWithCanary) {
  const textOf = (name) => fields[name].input.value.trim();
  const numberOf = (name) => (Number.isFinite(Number(textOf(name))) ? Number(textOf(name)) : textOf(name));
  const given = (entries, read) =>
    Object.fromEntries(entries.filter(([, name]) => textOf(name) !== '').map(([key, name]) => [key, read(name)]));
  const which = given(
    [
      ['hash_prefix', 'prefix'],
      ['profile', 'made'],
    ],
    textOf,
  );
  const before = textOf('before');
  if (before !== '') which.made_before = new Date(before).toISOString();
  const budget = given(
    [
      ['jobs', 'jobs'],
      ['hours_per_day', 'hours'],
    ],
    numberOf,
  );
  const canary = given(
    [
      ['share', 'share'],
      ['max_failure_share', 'failures'],
      ['max_bytes_ratio', 'bytes'],
      ['min_score', 'score'],
    ],
    numberOf,
  );
  return { to_profile: textOf('profile'), which, budget, ...(isWithCanary ? { canary } : {}) };
}
