import { useEffect, useState } from 'preact/hooks';
import { api, root } from './api.js';
import { html } from './base.js';
import { plainText, useForm } from './form.js';
import { bytesText } from './format.js';
import { canSign } from './links.js';
import { card, copyButton, emptyState } from './parts.js';

// A playground of `/thumb`: what a signed address of an image gives.

/**
 * @import { VNode } from 'preact'
 * @import { Schemas } from '#clients/typescript/src/index.ts'
 * @import { Attributes } from './form.js'
 * @typedef {Schemas['ConsoleLinksRequestImage']} Request
 */

/** @param {{ query: URLSearchParams }} props */
export function ImagesView({ query }) {
  if (canSign()) return html`<${Playground} first=${query.get('key') ?? ''} />`;
  const text = 'This server signs no addresses: it does not deliver images itself.';
  return html`<div class="view page">${emptyState('Not on this server', text)}</div>`;
}

const fields = [
  { name: 'key', label: 'Key', hint: 'An image of the media bucket: a result of a job.', pointer: '/images/0/key' },
  { name: 'w', label: 'Width', pointer: '/images/0/w' },
  { name: 'h', label: 'Height', pointer: '/images/0/h' },
  { name: 'fit', label: 'Fit', pointer: '/images/0/fit' },
  { name: 'f', label: 'Format', pointer: '/images/0/f' },
  { name: 'q', label: 'Quality', pointer: '/images/0/q' },
];
const numbers = ['w', 'h', 'q'];

/** @param {number} max @param {string} placeholder */
const number = (max, placeholder) => (/** @type {Attributes} */ attributes) =>
  html`<input ...${attributes} type="number" min="1" max=${max} placeholder=${placeholder} inputmode="numeric" />`;

/** @param {string[]} values */
const choice = (values) => (/** @type {Attributes} */ attributes) =>
  html`<select ...${attributes}>
    <option value="">default</option>
    ${values.map((value) => html`<option value=${value}>${value}</option>`)}
  </select>`;

/** @param {{ first: string }} props the key that the address names */
function Playground({ first }) {
  const form = useForm(fields);
  const [result, setResult] = useState(/** @type {VNode | null} */ (null));
  const show = async () => {
    if (!form.isComplete()) return;
    const given = fields.flatMap(({ name }) => {
      const text = form.text(name);
      return text === '' && name !== 'key' ? [] : [[name, numbers.includes(name) ? Number(text) : text]];
    });
    try {
      const request = /** @type {Request} */ (Object.fromEntries(given));
      const { images } = await api.links({ images: [request] });
      setResult(images[0] === undefined ? null : await resultOf(images[0]));
    } catch (problem) {
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
          ${form.field(
            'key',
            (attributes) =>
              html`<input ...${attributes} ...${plainText} defaultValue=${first} placeholder="images/9e/photo-1/…/large.jpg" />`,
          )}
          <div class="field-row">
            ${form.field('w', number(4096, '640'))}${form.field('h', number(4096, 'auto'))}
            ${form.field('fit', choice(['inside', 'cover', 'contain']))}
            ${form.field('f', choice(['webp', 'avif', 'jpg', 'png', 'auto']))}
            ${form.field('q', number(100, 'default'))}
          </div>
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
  const measures = `${image.naturalWidth} × ${image.naturalHeight}, ${type}, ${bytesText(size)}`;
  return card(
    'Result',
    { actions: copyButton('Copy the address', () => address) },
    html`<p class="soft">${measures}, valid until ${new Date(expiresAt).toLocaleTimeString()}</p>`,
    html`<p class="address"><code>${address}</code></p>`,
    html`<div class="checkered"><img src=${address} alt="The image as the address gives it" class="shown-image" /></div>`,
  );
}
