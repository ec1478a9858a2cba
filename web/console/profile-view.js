import { api, has } from './api.js';
import { copyButton, h } from './dom.js';
import { bytesText } from './format.js';
import { card, faultState } from './parts.js';

// A profile as it is written. The server checks it as one types, and states what it would make of a source: the page
// has no rules of its own.

const pauseMs = 350;
const begun = 'profiles:\n  my-profile:\n    crf: 24\n';

/** `profile`: null for a new one. @returns `{node, destroy()}` */
export function profileView({ profile }) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const node = h('div', { class: 'view page', 'aria-busy': 'true' });
  const open = async () => {
    try {
      const text = profile === null ? begun : (await api.profile(profile, signal)).yaml;
      node.removeAttribute('aria-busy');
      node.replaceChildren(...pageOf({ profile, text, signal }));
    } catch (problem) {
      if (!signal.aborted) node.replaceChildren(faultState(problem, () => void open()));
    }
  };
  void open();
  return { node, destroy: () => stopping.abort() };
}

function pageOf({ profile, text, signal }) {
  const editor = h('textarea', {
    id: 'profile-text',
    class: 'mono editor',
    rows: 22,
    spellcheck: 'false',
    autocomplete: 'off',
    autocapitalize: 'off',
    wrap: 'off',
    maxlength: 98_304,
    'aria-describedby': 'profile-hint profile-state',
    value: text,
  });
  const source = sourceFields();
  const state = h('p', { id: 'profile-state', role: 'status' });
  const found = h('div', { class: 'stack' });
  const check = checker({ signal, editor, source, state, found });
  editor.addEventListener('input', check.soon);
  source.node.addEventListener('input', check.soon);
  void check.now();
  return [
    h(
      'header',
      { class: 'page-head' },
      h('p', { class: 'crumbs' }, h('a', { href: '#/profiles' }, 'Profiles'), ' /'),
      h(
        'div',
        { class: 'title-line' },
        h('h1', {}, profile ?? 'Write a profile'),
        h(
          'div',
          { class: 'actions' },
          profile !== null && has('POST /api/rollouts')
            ? h('a', { class: 'button', href: `#/rollouts/new?profile=${encodeURIComponent(profile)}` }, 'Roll out')
            : null,
        ),
      ),
    ),
    h(
      'div',
      { class: 'columns even' },
      card(
        'Text',
        { actions: copyButton('Copy the text', () => editor.value) },
        h('label', { class: 'unseen', for: 'profile-text' }, 'Profiles as YAML'),
        editor,
        h(
          'p',
          { class: 'hint', id: 'profile-hint' },
          'YAML of MEDIA_PROFILES, or MediaProfiles. Nothing is changed here: copy the text into the configuration, or apply it.',
        ),
      ),
      h('div', { class: 'stack' }, card('Check', {}, state, source.node), found),
    ),
  ];
}

const numberInput = (name, value, max) => h('input', { name, type: 'number', value: String(value), min: 1, max });

/** The source that the ladder and the sizes are stated for. */
function sourceFields() {
  const inputs = {
    width: numberInput('width', 1920, 16_384),
    height: numberInput('height', 1080, 16_384),
    minutes: numberInput('minutes', 60, 10_080),
    hdr: h(
      'select',
      { name: 'hdr' },
      [
        ['sdr', 'SDR'],
        ['pq', 'HDR10'],
        ['hlg', 'HLG'],
      ].map(([value, label]) => h('option', { value }, label)),
    ),
  };
  const labels = { width: 'Width', height: 'Height', minutes: 'Minutes', hdr: 'Range' };
  const node = h(
    'fieldset',
    { class: 'field-row' },
    h('legend', { class: 'hint' }, 'For a source of'),
    Object.entries(labels).map(([name, label]) => h('label', { class: 'field' }, h('span', {}, label), inputs[name])),
  );
  const read = () => ({
    width: inputs.width.valueAsNumber,
    height: inputs.height.valueAsNumber,
    duration_sec: inputs.minutes.valueAsNumber * 60,
    hdr: inputs.hdr.value,
  });
  return { node, read };
}

/** Asks the server once typing pauses; an answer to an older text is dropped. */
function checker({ signal, editor, source, state, found }) {
  let timer;
  let asking = new AbortController();
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    asking.abort();
  });
  const say = (text, kind) => {
    state.dataset.kind = kind;
    if (state.textContent !== text) state.textContent = text;
  };
  const now = async () => {
    asking.abort();
    asking = new AbortController();
    const own = asking.signal;
    try {
      const answer = await api.checkProfiles({ text: editor.value, source: source.read() }, own);
      if (own.aborted) return;
      const { valid, faults, profiles } = answer;
      say(valid ? 'Valid' : faults.length === 1 ? '1 fault' : `${faults.length} faults`, valid ? 'good' : 'fault');
      if (valid) editor.removeAttribute('aria-invalid');
      else editor.setAttribute('aria-invalid', 'true');
      found.replaceChildren(...(valid ? profiles.map(outlineCard) : [faultsCard(faults, editor)]));
      if (valid && profiles.length === 0) found.replaceChildren(h('p', { class: 'soft' }, 'The text has no profile.'));
    } catch (problem) {
      if (own.aborted || signal.aborted) return;
      if (problem.status === 429) {
        say('Too many checks; another follows.', 'wait');
        timer = setTimeout(() => void now(), Math.max(1, problem.retryAfterSec) * 1000);
        return;
      }
      const texts = (problem.faults ?? []).map(({ pointer, detail }) => `${pointer.split('/').at(-1)} ${detail}.`);
      say([problem.message, ...texts].join(' '), 'fault');
      found.replaceChildren();
    }
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void now(), pauseMs);
  };
  return { now, soon };
}

const shownMax = 50;

function faultsCard(faults, editor) {
  const rows = faults.slice(0, shownMax).map(({ profile, field, detail, line }) =>
    h(
      'li',
      {},
      line === null
        ? null
        : h('button', { type: 'button', class: 'button small', onclick: () => goTo(editor, line) }, `Line ${line}`),
      h(
        'span',
        {},
        [profile, field].filter(Boolean).map((text) => h('code', {}, `${text} `)),
        detail,
      ),
    ),
  );
  const more = faults.length - rows.length;
  return card(
    'What is wrong',
    {},
    h('ul', { class: 'plain faults' }, rows, more > 0 ? h('li', {}, `and ${more} more`) : null),
  );
}

/** Selects a line, from 1, and brings it into view. */
function goTo(editor, line) {
  const lines = editor.value.split('\n');
  const from = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  editor.focus();
  editor.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  const height = Number.parseFloat(getComputedStyle(editor).lineHeight);
  editor.scrollTop = Math.max(0, (line - 5) * height);
}

const rate = (bits) => `${(bits / 1e6).toFixed(2)} Mb/s`;

function outlineCard({ name, ladder, audio, bytes_max: total }) {
  const most = Math.max(...ladder.map(({ bitrate_max: bits }) => bits));
  const rows = ladder.map((rung) => [
    h('span', {}, `${rung.width} × ${rung.height}`, rung.is_first ? h('span', { class: 'soft' }, ' first') : null),
    `${rung.codec}${rung.range === 'sdr' ? '' : ` ${rung.range}`}`,
    [
      h('span', {}, rate(rung.bitrate_max)),
      h('span', { class: 'bits', vars: { '--share': `${(100 * rung.bitrate_max) / most}%` }, 'aria-hidden': 'true' }),
    ],
    bytesText(rung.bytes_max),
  ]);
  rows.push(['Audio, stereo', 'aac', rate(audio.bitrate), bytesText(audio.bytes_max)]);
  return card(
    `Ladder of ${name}`,
    { class: 'outline' },
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Ladder of ${name}` },
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ['Track', 'Codec', 'Bitrate, at most', 'Size, at most'].map((text) => h('th', { scope: 'col' }, text)),
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
    ),
    h(
      'p',
      {},
      h('strong', { class: 'total' }, `At most ${bytesText(total)}`),
      h('span', { class: 'soft' }, ', by the caps. Constant quality mostly needs less.'),
    ),
  );
}
