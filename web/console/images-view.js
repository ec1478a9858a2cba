import { useEffect, useState } from 'preact/hooks';
import { root, signLinks } from './api.js';
import { html, useLatest } from './base.js';
import { useForm } from './form.js';
import { bytesText } from './format.js';
import { canSign } from './links.js';
import { card, copyButton, emptyState } from './parts.js';

// A playground of `/thumb`: what a signed address of an image gives.

/** @import { Field, ImageRequest, MakeInput, Schemas, VNode, Visit } from './types.ts' */

/** @param {Visit} visit */
export function ImagesView({ query }) {
  if (canSign()) return html`<${Playground} first=${query.get('key') ?? ''} />`;
  const text = 'This server signs no addresses: it does not deliver images itself.';
  return html`<div class="view page">${emptyState('Not on this server', text)}</div>`;
}

/** @param {number} max @param {string} placeholder */
const number = (max, placeholder) => ({ type: 'number', min: 1, max, placeholder, inputmode: 'numeric' });

/** @type {readonly Field[]} */
const measures = [
  ['w', 'Width', '/images/0/w', '', number(4096, '640')],
  ['h', 'Height', '/images/0/h', '', number(4096, 'auto')],
  ['fit', 'Fit', '/images/0/fit'],
  ['f', 'Format', '/images/0/f'],
  ['q', 'Quality', '/images/0/q', '', number(100, 'default')],
];
/** @type {Record<string, string[]>} */
const choices = { fit: ['inside', 'cover', 'contain'], f: ['webp', 'avif', 'jpg', 'png', 'auto'] };

/** @param {string} name @returns {MakeInput | undefined} */
function inputOf(name) {
  const values = choices[name]?.map((value) => html`<option value=${value}>${value}</option>`);
  return values && ((attributes) => html`<select ...${attributes}><option value="">default</option>${values}</select>`);
}

/** @param {{ first: string }} props the key that the address names */
function Playground({ first }) {
  const input = { defaultValue: first, placeholder: 'images/9e/photo-1/…/large.jpg' };
  /** @type {Field} */
  const key = ['key', 'Key', '/images/0/key', 'Choose an image of a media: a result of a job.', input];
  const form = useForm([key, ...measures]);
  const [result, setResult] = useState(/** @type {VNode | null} */ (null));
  const begin = useLatest();
  const show = async () => {
    if (!form.isComplete()) return;
    const signal = begin();
    const given = measures.flatMap(([name, , , , attributes]) => {
      const text = form.text(name);
      return text === '' ? [] : [[name, attributes?.['type'] === 'number' ? Number(text) : text]];
    });
    try {
      /** @type {ImageRequest} */
      const request = { key: form.text('key'), ...Object.fromEntries(given) };
      const { images } = await signLinks({ images: [request] });
      const answer = images[0] === undefined ? null : await resultOf(images[0]);
      if (!signal.aborted) setResult(answer);
    } catch (problem) {
      if (signal.aborted) return;
      setResult(null);
      form.refuse(problem);
    }
  };
  useEffect(() => {
    if (first !== '') void show();
  }, []);
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void show();
  };
  return html`<div class="view page narrow">
    <header class="page-head"><h1>Images</h1></header>
    <div class="stack">
      ${card(
        'Address of an image',
        {},
        html`<form ref=${form.form} class="form" novalidate onSubmit=${onSubmit}>
          ${form.field(key)}
          <div class="field-row">${measures.map((field) => form.field(field, inputOf(field[0])))}</div>
          ${form.summary}
          <button type="submit" class="button primary">Sign and show</button>
        </form>`,
      )}
      <div class="stack" aria-live="polite">${result}</div>
    </div>
  </div>`;
}

/** @param {Schemas['ConsoleLinksImage']} signed */
async function resultOf({ path, expires_at: expiresAt }) {
  const address = new URL(path.slice(1), root).href;
  const response = await fetch(address).catch(() => {
    throw new Error('The server cannot be reached. Check that it is running.');
  });
  if (!response.ok) {
    /** @type {{ detail?: string }} */
    const { detail = `It answered ${response.status}.` } = await response.json().catch(() => ({}));
    return card('The server refuses it', {}, html`<p class="fault">${detail}</p>`);
  }
  const { size, type } = await response.blob();
  const image = Object.assign(new Image(), { src: address });
  await image.decode().catch(() => undefined);
  const sizes = `${image.naturalWidth} × ${image.naturalHeight}, ${type}, ${bytesText(size)}`;
  return card(
    'Result',
    { actions: copyButton('Copy the address', () => address) },
    html`<p class="soft">${sizes}, valid until ${new Date(expiresAt).toLocaleTimeString()}</p>`,
    html`<p class="address"><code>${address}</code></p>`,
    html`<div class="checkered"><img src=${address} alt="The image as the address gives it" class="shown-image" /></div>`,
  );
}
