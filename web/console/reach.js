import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { root } from './api.js';
import { html } from './base.js';

// Whether the server is reached. Lists and pages keep what they have while it is away, so somebody has to say so.

const lookMs = 2_000;
const answerMs = 2_000;
const attribute = 'data-unreached';

/** Whether what is shown may be out of date: times do not count on then. */
export const isUnreached = () => document.body.hasAttribute(attribute);

async function isThere() {
  try {
    const options = { cache: /** @type {const} */ ('no-store'), signal: AbortSignal.timeout(answerMs) };
    return (await fetch(new URL('healthz', root), options)).ok;
  } catch {
    return false;
  }
}

/** A bar that says since when the server is not reached; nothing while it is. */
export function Reach() {
  const [since, setSince] = useState(/** @type {Date | null} */ (null));
  useEffect(() => {
    let isRemoved = false;
    const look = async () => {
      if (document.hidden) return;
      const asked = new Date();
      const isReached = await isThere();
      if (!isRemoved) setSince((before) => (isReached ? null : (before ?? asked)));
    };
    const timer = setInterval(() => void look(), lookMs);
    return () => {
      isRemoved = true;
      clearInterval(timer);
    };
  }, []);
  useLayoutEffect(() => {
    document.body.toggleAttribute(attribute, since !== null);
  }, [since]);
  return html`<p class="unreached" role="status" hidden=${since === null}>
    ${since !== null && `Not reached since ${since.toLocaleTimeString()}, trying again. What is shown is of then.`}
  </p>`;
}
