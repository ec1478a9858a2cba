import { api, root, unreachable } from './api.js';
import { copyButton, h } from './dom.js';
import { field, incomplete, showFaults } from './form.js';
import { bytesText } from './format.js';
import { canSign } from './links.js';
import { card, emptyState } from './parts.js';

// A playground of `/thumb`: what a signed address of an image gives.

const number = (name, max, placeholder) =>
  h('input', { name, type: 'number', min: 1, max, placeholder, inputmode: 'numeric' });

const choice = (name, choices) =>
  h(
    'select',
    { name },
    h('option', { value: '' }, 'default'),
    choices.map((value) => h('option', { value }, value)),
  );

/** @returns `{node, destroy()}` */
export function imagesView({ query }) {
  if (!canSign()) {
    const text = 'This server signs no addresses: it does not deliver images itself.';
    return { node: h('div', { class: 'view page' }, emptyState('Not on this server', text)), destroy() {} };
  }
  const fields = {
    key: field({
      label: 'Key',
      hint: 'An image of the media bucket: a result of a job.',
      input: h('input', {
        name: 'key',
        autocomplete: 'off',
        spellcheck: 'false',
        value: query.get('key') ?? '',
        placeholder: 'images/9e/photo-1/…/large.jpg',
      }),
      pointers: ['/images/0/key'],
    }),
    w: field({ label: 'Width', input: number('w', 4096, '640'), pointers: ['/images/0/w'] }),
    h: field({ label: 'Height', input: number('h', 4096, 'auto'), pointers: ['/images/0/h'] }),
    fit: field({ label: 'Fit', input: choice('fit', ['inside', 'cover', 'contain']), pointers: ['/images/0/fit'] }),
    f: field({
      label: 'Format',
      input: choice('f', ['webp', 'avif', 'jpg', 'png', 'auto']),
      pointers: ['/images/0/f'],
    }),
    q: field({ label: 'Quality', input: number('q', 100, 'default'), pointers: ['/images/0/q'] }),
  };
  const all = Object.values(fields);
  const summary = h('p', { class: 'fault', role: 'alert', hidden: true });
  const result = h('div', { class: 'stack', 'aria-live': 'polite' });

  const show = async () => {
    const unread = incomplete(all);
    showFaults(all, unread);
    summary.hidden = true;
    if (unread.length > 0) return;
    const request = Object.fromEntries(
      Object.entries(fields).flatMap(([name, { input }]) => {
        const text = input.value.trim();
        if (text === '' && name !== 'key') return [];
        return [[name, input.type === 'number' ? Number(text) : text]];
      }),
    );
    try {
      const { images } = await api.links({ images: [request] });
      result.replaceChildren(await resultOf(images[0]));
    } catch (problem) {
      result.replaceChildren();
      const rest = showFaults(all, problem.faults);
      summary.textContent =
        problem.faults.length > 0 && rest.length === 0 ? 'Correct the marked fields.' : problem.message;
      summary.hidden = false;
    }
  };
  const form = h(
    'form',
    {
      class: 'form',
      novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        void show();
      },
    },
    fields.key.node,
    h(
      'div',
      { class: 'field-row' },
      [fields.w, fields.h, fields.fit, fields.f, fields.q].map(({ node }) => node),
    ),
    summary,
    h('button', { type: 'submit', class: 'button primary' }, 'Sign and show'),
  );
  if (fields.key.input.value !== '') void show();
  const node = h(
    'div',
    { class: 'view page narrow' },
    h('header', { class: 'page-head' }, h('h1', {}, 'Images')),
    h('div', { class: 'stack' }, card('Address of an image', {}, form), result),
  );
  return { node, destroy() {} };
}

async function resultOf({ path, expires_at: expiresAt }) {
  const address = new URL(path.slice(1), root).href;
  const response = await fetch(address).catch(() => {
    throw unreachable();
  });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    return card(
      'The server refuses it',
      {},
      h('p', { class: 'fault' }, problem.detail ?? `It answered ${response.status}.`),
    );
  }
  const { size, type } = await response.blob();
  const image = h('img', { src: address, alt: 'The image as the address gives it', class: 'shown-image' });
  await image.decode().catch(() => undefined);
  return card(
    'Result',
    { actions: copyButton('Copy the address', () => address) },
    h(
      'p',
      { class: 'soft' },
      `${image.naturalWidth} × ${image.naturalHeight}, ${type}, ${bytesText(size)}, valid until ${new Date(expiresAt).toLocaleTimeString()}`,
    ),
    h('p', { class: 'address' }, h('code', {}, address)),
    h('div', { class: 'checkered' }, image),
  );
}
