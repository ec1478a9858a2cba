import { root } from './api.js';
import { announce, copyButton, h } from './dom.js';
import { dateTimeText } from './format.js';
import { canSign, playback } from './links.js';
import { card, whileDisabled } from './parts.js';

// A link to the page that plays a stream, for someone without an API key. Of an encrypted stream it has a token in its
// fragment, which browsers send nowhere, and ends with the token.

const hour = 3600;
const durations = [
  ['1 hour', hour],
  ['1 day', 24 * hour],
  ['7 days', 7 * 24 * hour],
];

/** Null where there is no stream, or the server signs no token for it. */
export function shareCard({ hash, results }) {
  if (!results?.streaming || !canSign()) return null;
  const isEncrypted = results.streaming.encrypted;
  const place = h('div', { role: 'status' });
  const duration = h(
    'select',
    { name: 'share-duration' },
    durations.map(([text, seconds]) => h('option', { value: String(seconds) }, text)),
  );
  const button = h('button', { type: 'submit', class: 'button' }, 'Make a link');
  const make = async () => {
    try {
      const made = isEncrypted ? await playback(hash, Number(duration.value)) : null;
      const token = made === null ? '' : `&token=${made.token}`;
      const link = new URL(`player/#hash=${encodeURIComponent(hash)}${token}`, root).href;
      const input = h('input', { readonly: true, value: link, 'aria-label': 'Link', class: 'mono share-link' });
      const until = made === null ? 'The stream is not encrypted: the link has no end.' : endText(made.expires_at);
      place.replaceChildren(
        h(
          'div',
          { class: 'with-copy' },
          input,
          copyButton('Copy the link', () => link),
        ),
        h('p', { class: 'soft' }, until),
      );
    } catch (problem) {
      announce(problem.message, 'fault');
    }
  };
  const onsubmit = (event) => {
    event.preventDefault();
    void whileDisabled(button, make);
  };
  return card(
    'Share',
    {},
    h(
      'form',
      { class: 'line-form', onsubmit },
      isEncrypted ? h('label', { class: 'field' }, h('span', {}, 'Plays for'), duration) : null,
      button,
    ),
    place,
  );
}

const endText = (time) =>
  `It plays until ${dateTimeText(time)}. Whoever has it can watch; only a deletion ends it earlier.`;
