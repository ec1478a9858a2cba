import { h } from './dom.js';
import { faultState } from './parts.js';

// A list that shows what came last: page after page by a button, and what comes meanwhile by polling.

/** How many of the newest are looked at again. */
const polledItems = 20;
/** Of a page, where more came since the last look. */
const pageMax = 100;
/** What came since the last look; more is found by the next reload. */
const newestMax = 2000;

/**
 * Reads until `signal` aborts. `read({limit, cursor}, signal)` gives `{items, cursor}`; `take(item, isOnTop)` shows an
 * item, which it may know (`isKnown`); `empty()` is shown while `isEmpty()`; `readOlder(items, signal)` reads items
 * again that may have changed and are not among the newest `items`.
 *
 * @returns the nodes `{message, more}`
 */
export function newestFirst({ read, readOlder, take, isKnown, isEmpty, empty, pageSize, pollMs, signal }) {
  const message = h('div', {});
  const more = h('button', { type: 'button', class: 'button', hidden: true }, 'Show more');
  let cursor;

  async function loadPage() {
    more.disabled = true;
    try {
      const page = await read({ limit: pageSize, cursor }, signal);
      for (const item of page.items) take(item, false);
      cursor = page.cursor;
      more.hidden = cursor === null;
      message.replaceChildren(...(isEmpty() ? [empty()] : []));
    } catch (problem) {
      if (!signal.aborted) message.replaceChildren(faultState(problem, () => void loadPage()));
    } finally {
      more.disabled = false;
    }
  }

  async function poll() {
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      if (signal.aborted || document.hidden || cursor === undefined) continue;
      const items = await readNewest().catch(() => []);
      const older = (await readOlder?.(items, signal).catch(() => [])) ?? [];
      if (signal.aborted) return;
      for (const item of [...items.toReversed(), ...older]) take(item, true);
      const showsFault = message.querySelector('[role=alert]') !== null;
      if (items.length > 0 && !showsFault) message.replaceChildren();
    }
  }

  /** The newest, down to one that is known. */
  async function readNewest() {
    const { items, cursor: after } = await read({ limit: polledItems }, signal);
    if (after === null || items.some(isKnown)) return items;
    const found = [...items];
    let next = after;
    while (next !== null && !found.some(isKnown) && found.length < newestMax) {
      const page = await read({ limit: pageMax, cursor: next }, signal);
      found.push(...page.items);
      next = page.cursor;
    }
    // What is older than the known ones has its place below them.
    const end = found.findIndex(isKnown);
    return end === -1 ? found : found.slice(0, end);
  }

  more.addEventListener('click', () => void loadPage());
  void loadPage();
  void poll();
  return { message, more };
}
