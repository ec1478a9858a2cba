import { h } from 'preact';
import { useState } from 'preact/hooks';
import { root } from './api.js';
import { html } from './base.js';
import { announceProblem } from './dialogs.js';
import { withTexts } from './form.js';
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

/**
 * Null where there is no stream, or the server signs no token for it.
 *
 * @param {AnyJob} job @param {string | null} title of the media
 */
export function shareCard(job, title) {
  const stream = streamOf(job);
  if (stream === null || !canSign()) return null;
  return h(ShareCard, { hash: stream.hash, title, isEncrypted: stream.results.streaming?.encrypted === true });
}

/** @param {{ hash: string, title: string | null, isEncrypted: boolean }} props */
function ShareCard({ hash, title, isEncrypted }) {
  const [made, setMade] = useState(/** @type {{ link: string, until: string } | null} */ (null));
  const [isMaking, setMaking] = useState(false);
  const make = async (/** @type {Record<string, string>} */ texts) => {
    const { token, ticket, expires_at: end } = await playback(hash, Number(texts['share-duration']));
    const begin = texts['share-begin'];
    const given = new URLSearchParams({
      hash,
      ...(isEncrypted && { token }),
      ...(ticket && { ticket }),
      ...('share-title' in texts && { title: title ?? '' }),
      ...(begin !== undefined && { t: begin }),
      clean: '1',
    });
    const hasEnd = isEncrypted || ticket !== null;
    setMade({
      link: new URL(`player/#${given}`, root).href,
      until: hasEnd ? endText(end) : 'The stream is open: the link has no end.',
    });
  };
  const onSubmit = withTexts((texts) => {
    setMaking(true);
    void make(texts)
      .catch(announceProblem)
      .finally(() => setMaking(false));
  });
  return card(
    'Share',
    {},
    html`<form class="line-form" onSubmit=${onSubmit}>
      <label class="field"><span>Plays for</span>
        <select name="share-duration">
          ${durations.map(([text, seconds]) => html`<option value=${String(seconds)}>${text}</option>`)}
        </select>
      </label>
      <label class="field"><span>From</span>
        <input name="share-begin" size="6" placeholder="1:30" pattern="[0-9:hms.]*" autocomplete="off" />
      </label>
      ${title && html`<label class="check"><input type="checkbox" name="share-title" defaultChecked /> With its title</label>`}
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
