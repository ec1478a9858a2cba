import { h } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, faultsOf, has, retryAfterOf, statusOf, textOf } from './api.js';
import { html, useLoaded } from './base.js';
import { bytesText } from './format.js';
import { card, copyButton, isBusy, shareBar, tableOf, whenLoaded } from './parts.js';

// A profile as it is written. The server checks it as one types, and states what it would make of a source: the page
// has no rules of its own.

/** @import { Schemas } from './types.ts' */

const pauseMs = 350;
const begun = 'profiles:\n  my-profile:\n    crf: 24\n';

/** @param {{ profile: string | null }} props null for a new one */
export function ProfileView({ profile }) {
  const read = async (/** @type {AbortSignal} */ signal) =>
    profile === null
      ? begun
      : (await ask((http) => http.GET('/api/profiles/{name}', { params: { path: { name: profile } }, signal }))).yaml;
  const loaded = useLoaded(read, []);
  return html`<div class="view page" aria-busy=${isBusy(loaded)}>
    ${whenLoaded(loaded, (text) => h(Editor, { profile, text }))}
  </div>`;
}

/** @param {{ profile: string | null, text: string }} props */
function Editor({ profile, text }) {
  const editor = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const source = useRef(/** @type {HTMLFieldSetElement | null} */ (null));
  const read = () => ({ text: editor.current?.value ?? '', source: sourceOf(source.current) });
  const { state, kind, found, soon } = useCheck(read);
  const isInvalid = found !== null && !found.valid ? { 'aria-invalid': 'true' } : {};
  const canRollOut = profile !== null && has('POST /api/rollouts');
  const rollOut = `#/rollouts/new?profile=${encodeURIComponent(profile ?? '')}`;
  return html`
    <header class="page-head">
      <p class="crumbs"><a href="#/profiles">Profiles</a> /</p>
      <div class="title-line">
        <h1>${profile ?? 'Check a profile'}</h1>
        <div class="actions">${canRollOut && html`<a class="button" href=${rollOut}>Roll out</a>`}</div>
      </div>
    </header>
    <div class="columns even">
      ${card(
        'Text',
        { actions: copyButton('Copy the text', () => editor.current?.value ?? '') },
        html`<label class="unseen" for="profile-text">Profiles as YAML</label>`,
        html`<textarea ref=${editor} id="profile-text" class="mono editor" rows="22" spellcheck="false"
          autocomplete="off" autocapitalize="off" wrap="off" maxlength="98304" onInput=${soon} ...${isInvalid}
          aria-describedby="profile-hint profile-state" defaultValue=${text}></textarea>`,
        html`<p class="hint" id="profile-hint">
          YAML of MEDIA_PROFILES, or MediaProfiles. Nothing is changed here: copy the text into the configuration, or
          apply it.
        </p>`,
      )}
      <div class="stack">
        ${card(
          'Check',
          {},
          html`<p id="profile-state" role="status" data-kind=${kind}>${state}</p>`,
          html`<fieldset ref=${source} class="field-row" onInput=${soon}>${sourceFields}</fieldset>`,
        )}
        <div class="stack">${found !== null && foundCards(found, editor.current)}</div>
      </div>
    </div>`;
}

/** @param {string} name @param {string} label @param {number} value @param {number} max */
const numberField = (name, label, value, max) =>
  html`<label class="field"><span>${label}</span>
    <input name=${name} type="number" defaultValue=${value} min="1" max=${max} /></label>`;

/** The source that the ladder and the sizes are stated for. */
const sourceFields = [
  html`<legend class="hint">For a source of</legend>`,
  numberField('width', 'Width', 1920, 16_384),
  numberField('height', 'Height', 1080, 16_384),
  numberField('minutes', 'Minutes', 60, 10_080),
  html`<label class="field"><span>Range</span><select name="hdr">
    <option value="sdr">SDR</option><option value="pq">HDR10</option><option value="hlg">HLG</option>
  </select></label>`,
];

/** Numbers as they are written: the server says what is wrong with them. @param {HTMLFieldSetElement | null} fields */
function sourceOf(fields) {
  const number = (/** @type {string} */ name) => {
    const input = fields?.elements.namedItem(name);
    return input instanceof HTMLInputElement ? input.valueAsNumber : Number.NaN;
  };
  const select = fields?.elements.namedItem('hdr');
  const range = select instanceof HTMLSelectElement ? select.value : '';
  /** @type {'sdr' | 'pq' | 'hlg'} */
  const hdr = range === 'pq' || range === 'hlg' ? range : 'sdr';
  return { width: number('width'), height: number('height'), duration_sec: number('minutes') * 60, hdr };
}

/**
 * Asks the server once typing pauses; an answer to an older text is dropped.
 *
 * @param {() => Schemas['ProfileCheckRequest']} read
 */
function useCheck(read) {
  const [shown, setShown] = useState({
    state: '',
    kind: /** @type {'good' | 'fault' | 'wait' | ''} */ (''),
    found: /** @type {Schemas['ProfileCheck'] | null} */ (null),
  });
  const asking = useRef(new AbortController());
  const timer = useRef(0);
  const after = (/** @type {number} */ ms) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void now(), ms);
  };
  const now = async () => {
    asking.current.abort();
    asking.current = new AbortController();
    const { signal } = asking.current;
    try {
      const found = await ask((http) => http.POST('/api/profiles/check', { body: read(), signal }));
      if (signal.aborted) return;
      const { length } = found.faults;
      const state = found.valid ? 'Valid' : length === 1 ? '1 fault' : `${length} faults`;
      setShown({ state, kind: found.valid ? 'good' : 'fault', found });
    } catch (problem) {
      if (signal.aborted) return;
      if (statusOf(problem) === 429) {
        setShown((before) => ({ ...before, state: 'Too many checks; another follows.', kind: 'wait' }));
        after(Math.max(1, retryAfterOf(problem)) * 1000);
        return;
      }
      const texts = faultsOf(problem).map(({ pointer, detail }) => `${pointer.split('/').at(-1)} ${detail}.`);
      setShown({ state: [textOf(problem), ...texts].join(' '), kind: 'fault', found: null });
    }
  };
  useEffect(() => {
    void now();
    return () => {
      clearTimeout(timer.current);
      asking.current.abort();
    };
  }, []);
  return { ...shown, soon: () => after(pauseMs) };
}

/** @param {Schemas['ProfileCheck']} found @param {HTMLTextAreaElement | null} editor */
function foundCards({ valid, faults, profiles }, editor) {
  if (!valid) return faultsCard(faults, editor);
  return profiles.length === 0 ? html`<p class="soft">The text has no profile.</p>` : profiles.map(outlineCard);
}

const shownMax = 50;

/** @param {Schemas['ProfileCheckFault'][]} faults @param {HTMLTextAreaElement | null} editor */
function faultsCard(faults, editor) {
  const line = (/** @type {number} */ number) =>
    html`<button type="button" class="button small" onClick=${() => goTo(editor, number)}>Line ${number}</button>`;
  const rows = faults.slice(0, shownMax).map(
    (fault) => html`<li>
      ${fault.line !== null && line(fault.line)}
      <span>
        ${[fault.profile, fault.field].map((text) => text && html`<code>${text} </code>`)}${fault.detail}
      </span>
    </li>`,
  );
  const more = faults.length - rows.length;
  return card(
    'What is wrong',
    {},
    html`<ul class="plain faults">${rows}${more > 0 && html`<li>and ${more} more</li>`}</ul>`,
  );
}

/** Selects a line, from 1, and brings it into view. @param {HTMLTextAreaElement | null} editor @param {number} line */
function goTo(editor, line) {
  if (editor === null) return;
  const lines = editor.value.split('\n');
  const from = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  editor.focus();
  editor.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  const height = Number.parseFloat(getComputedStyle(editor).lineHeight);
  editor.scrollTop = Math.max(0, (line - 5) * height);
}

/** @param {number} bits */
const rate = (bits) => `${(bits / 1e6).toFixed(2)} Mb/s`;

/** @param {Schemas['ProfileCheckProfile']} profile */
function outlineCard({ name, ladder, audio, bytes_max: total }) {
  const most = Math.max(...ladder.map(({ bitrate_max: bits }) => bits));
  const rows = ladder.map((rung) => [
    html`<span>${rung.width} × ${rung.height}${rung.is_first && html`<span class="soft"> first</span>`}</span>`,
    `${rung.codec}${rung.range === 'sdr' ? '' : ` ${rung.range}`}`,
    html`<span>${rate(rung.bitrate_max)}</span>${shareBar(rung.bitrate_max / most)}`,
    bytesText(rung.bytes_max),
  ]);
  const sound = ['Audio, stereo', 'aac', rate(audio.bitrate), bytesText(audio.bytes_max)];
  return card(
    `Ladder of ${name}`,
    { class: 'outline' },
    tableOf(`Ladder of ${name}`, ['Track', 'Codec', 'Bitrate, at most', 'Size, at most'], [...rows, sound]),
    html`<p>
      <strong class="total">At most ${bytesText(total)}</strong>
      <span class="soft">, by the caps. Constant quality mostly needs less.</span>
    </p>`,
  );
}
