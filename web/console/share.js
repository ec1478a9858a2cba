import { h } from 'preact';
import { useState } from 'preact/hooks';
import { root } from './api.js';
import { html } from './base.js';
import { announceProblem } from './dialogs.js';
import { dateTimeText } from './format.js';
import { canSign, playback } from './links.js';
import { card, copyButton } from './parts.js';
import { streamOf } from './results.js';

// A link to the page that plays a stream, for someone without an API key. Of an encrypted stream it has a token in its
// fragment, which browsers send nowhere, and of a signed one a ticket; it ends with them.

/** @import { AnyJob } from './types.ts' */

const hour = 3600;
const durations = /** @type {const} */ ([
  ['1 hour', hour],
  ['1 day', 24 * hour],
  ['7 days', 7 * 24 * hour],
]);

/** Null where there is no stream, or the server signs no token for it. @param {AnyJob} job */
export function shareCard(job) {
  const stream = streamOf(job);
  if (stream === null || !canSign()) return null;
  return h(ShareCard, { hash: stream.hash, isEncrypted: stream.results.streaming?.encrypted === true });
}

/** @param {{ hash: string, isEncrypted: boolean }} props */
function ShareCard({ hash, isEncrypted }) {
  const [made, setMade] = useState(/** @type {{ link: string, until: string } | null} */ (null));
  const [duration, setDuration] = useState(String(hour));
  const [isMaking, setMaking] = useState(false);
  const make = async () => {
    const { token, ticket, expires_at: end } = await playback(hash, Number(duration));
    const given = new URLSearchParams({ hash, ...(isEncrypted && { token }), ...(ticket && { ticket }) });
    const hasEnd = isEncrypted || ticket !== null;
    setMade({
      link: new URL(`player/#${given}`, root).href,
      until: hasEnd ? endText(end) : 'The stream is open: the link has no end.',
    });
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    setMaking(true);
    void make()
      .catch(announceProblem)
      .finally(() => setMaking(false));
  };
  const choose = (/** @type {Event} */ { currentTarget }) => {
    if (currentTarget instanceof HTMLSelectElement) setDuration(currentTarget.value);
  };
  return card(
    'Share',
    {},
    html`<form class="line-form" onSubmit=${onSubmit}>
      <label class="field"><span>Plays for</span>
        <select name="share-duration" onChange=${choose}>
          ${durations.map(([text, seconds]) => html`<option value=${String(seconds)}>${text}</option>`)}
        </select>
      </label>
      <button type="submit" class="button" disabled=${isMaking}>Make a link</button>
    </form>`,
    html`<div role="status">
      ${
        made &&
        html`<div class="with-copy">
          <input readonly value=${made.link} aria-label="Link" class="mono share-link" />
          ${copyButton('Copy the link', () => made.link)}
        </div>
        <p class="soft">${made.until}</p>`
      }
    </div>`,
  );
}

/** @param {string} time */
const endText = (time) =>
  `It plays until ${dateTimeText(time)}. Whoever has it can watch; only a deletion ends it earlier.`;
