import { useRef, useState } from 'preact/hooks';
import { faultsOf, textOf } from './api.js';
import { html } from './base.js';

// Fields with a label, a hint and a place for the fault that the server reports.

/** @import { Fault, Field, MakeInput } from './types.ts' */

export const plainText = { autocomplete: 'off', spellcheck: 'false' };

/**
 * The texts of a form by the names of its fields; an empty one is left out.
 *
 * @param {HTMLFormElement} form
 * @returns {Record<string, string>}
 */
export function textsOf(form) {
  const texts = [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value.trim() : '']);
  return Object.fromEntries(texts.filter(([, text]) => text !== ''));
}

/** Handles the submission of a form, or a choice in it. @param {(texts: Record<string, string>) => unknown} use */
export const withTexts = (use) => (/** @type {Event} */ event) => {
  event.preventDefault();
  const { currentTarget: target } = event;
  const form = target instanceof HTMLSelectElement ? target.form : target;
  if (form instanceof HTMLFormElement) use(textsOf(form));
};

/** A path with a query; without one where it has nothing. @param {string} path @param {Record<string, string>} query */
export const pathWith = (path, query) =>
  Object.keys(query).length === 0 ? path : `${path}?${new URLSearchParams(query)}`;

/** @type {MakeInput} */
const textInput = (attributes) => html`<input ...${plainText} ...${attributes} />`;

/** @param {string} text */
const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Whether a fault is of a field or of something within it. @param {Fault} fault @param {Field} field */
const isOf = ({ pointer }, [, , own]) => pointer === own || pointer.startsWith(`${own}/`);

/** The name of a field within the text of another one stands before the fault. @param {Fault} fault */
function faultText({ pointer, detail }, own = '') {
  if (pointer === own || pointer === '') return sentence(`${detail[0]?.toUpperCase() ?? ''}${detail.slice(1)}`);
  return `${pointer}: ${sentence(detail)}`;
}

/**
 * The text of the faults of each field by its name, and the texts of faults that are of no field.
 *
 * @param {readonly Field[]} fields @param {readonly Fault[]} faults
 */
export function faultsByField(fields, faults) {
  /** @type {Map<string, string>} */
  const byName = new Map();
  for (const field of fields) {
    const own = faults.filter((fault) => isOf(fault, field));
    const [name, , pointer] = field;
    if (own.length > 0) byName.set(name, own.map((fault) => faultText(fault, pointer)).join(' '));
  }
  const rest = faults.filter((fault) => !fields.some((field) => isOf(fault, field)));
  return { byName, rest: rest.map((fault) => faultText(fault)) };
}

/** The fields of a form, and the faults that it shows. @param {readonly Field[]} fields */
export function useForm(fields) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const [shown, setShown] = useState({ byName: /** @type {ReadonlyMap<string, string>} */ (new Map()), summary: '' });

  /** Shows each fault at its field and focuses the first of them. @param {readonly Fault[]} faults */
  const show = (faults, text = '') => {
    const { byName, rest } = faultsByField(fields, faults);
    const isMarked = faults.length > 0 && rest.length === 0;
    const summary = isMarked && text !== '' ? 'Correct the marked fields.' : [text, ...rest].join(' ').trim();
    setShown({ byName, summary });
    const [first = ''] = byName.keys();
    const input = form.current?.elements.namedItem(first);
    if (input instanceof HTMLElement) input.focus();
  };

  return {
    form,
    show,
    /** Shows what the server refuses. @param {unknown} problem */
    refuse: (problem) => show(faultsOf(problem), textOf(problem)),
    /** Takes the faults away, but those of fields whose text the browser gives no value for, such as half a date. */
    isComplete() {
      const inputs = [...(form.current?.querySelectorAll('input') ?? [])].filter(({ validity }) => validity.badInput);
      const unread = fields.filter(([name]) => inputs.some((input) => input.name === name));
      show(unread.map(([, , pointer]) => ({ pointer, detail: 'This is incomplete.' })));
      return unread.length === 0;
    },
    /** The text of a field. @param {string} name */
    text(name) {
      const value = form.current === null ? null : new FormData(form.current).get(name);
      return typeof value === 'string' ? value.trim() : '';
    },
    /** A field with its input, by default a text. @param {Field} field @param {MakeInput} make */
    field([name, label, , hint = '', attributes = {}], make = textInput) {
      const fault = shown.byName.get(name) ?? '';
      const [id, hintId, faultId] = ['field', 'hint', 'fault'].map((kind) => `${kind}-${name}`);
      const described = { ...attributes, id: `field-${name}`, name, 'aria-describedby': `${hintId} ${faultId}` };
      return html`<div class="field" key=${name}>
        <label for=${id}>${label}</label>
        ${make(fault === '' ? described : { ...described, 'aria-invalid': 'true' })}
        <p id=${hintId} class="hint">${hint}</p>
        <p id=${faultId} class="field-fault" hidden=${fault === ''}>${fault}</p>
      </div>`;
    },
    summary: html`<p class="fault" role="alert" hidden=${shown.summary === ''}>${shown.summary}</p>`,
  };
}
