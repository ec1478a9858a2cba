import { h } from './dom.js';
import { faultState } from './parts.js';

// A list that shows what came last: page after page by a button, and what comes meanwhile by polling.

/** How many of the newest are looked at again. */
const polledItems = 20;

/**
 * Reads until `signal` aborts. `read({limit, cursor}, signal)` gives `{items, cursor}`; `take(item, isOnTop)` shows an
 * item, which it may know; `empty()` is shown while `isEmpty()`.
 *
 * @returns the nodes `{message, more}`
 */
export function newestFirst({ read, take, isEmpty, empty, pageSize, pollMs, signal }) {
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
      const { items } = await read({ limit: polledItems }, signal).catch(() => ({ items: [] }));
      for (const item of items.toReversed()) take(item, true);
      if (items.length > 0) message.replaceChildren();
    }
  }

  more.addEventListener('click', () => void loadPage());
  void loadPage();
  void poll();
  return { message, more };
}
