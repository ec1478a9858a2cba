import { useEffect, useRef, useState } from 'preact/hooks';
import { retryAfterOf } from './api.js';
import { useStopping } from './base.js';

// A list whose newest items come first: page after page as one goes on, and what comes meanwhile by polling.

/** @import { Feed, FeedOptions } from './types.ts' */

/** The rows of a page where more came since the last look. */
const pageMax = 100;
/** The most rows that one look finds since the last; the next reload finds the rest. */
const newestMax = 2000;
/** After a page that could not be read. */
const pauseSec = 2;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @template Item @param {Item} before @param {Item} fresh */
const fresher = (before, fresh) => (JSON.stringify(before) === JSON.stringify(fresh) ? before : fresh);

/** @template {{ created_at: string }} Item */
class Reader {
  /** @type {readonly Item[]} */
  #items = [];
  /** @type {string | null | undefined} */
  #cursor;
  #isLoading = false;

  /**
   * @param {FeedOptions<Item>} options @param {AbortSignal} signal
   * @param {(feed: Feed<Item>) => void} onChange
   */
  constructor(options, signal, onChange) {
    this.options = options;
    this.signal = signal;
    this.onChange = onChange;
  }

  /** @param {unknown} [problem] */
  #changed(problem = null) {
    if (this.signal.aborted) return;
    this.onChange({ items: this.#items, isRead: this.#cursor !== undefined, isWhole: this.#cursor === null, problem });
  }

  async loadMore() {
    if (this.#isLoading || this.#cursor === null) return;
    this.#isLoading = true;
    try {
      const after = this.#cursor === undefined ? {} : { cursor: this.#cursor };
      const page = await this.options.read({ limit: this.options.pageSize, ...after }, this.signal);
      this.#items = [...this.#items, ...this.#unknown(page.items)];
      this.#cursor = page.cursor;
      this.#changed();
    } catch (problem) {
      this.#changed(problem);
      if (this.#items.length > 0) await pause((retryAfterOf(problem) || pauseSec) * 1000);
    } finally {
      this.#isLoading = false;
    }
  }

  /** @param {readonly Item[]} items */
  #unknown(items) {
    const known = new Set(this.#items.map(this.options.idOf));
    return items.filter((item) => !known.has(this.options.idOf(item)));
  }

  /** The newest items, down to the newest one of the list. */
  async #readNewest() {
    const [newest] = this.#items;
    const { read, polledItems } = this.options;
    let { items: found, cursor } = await read({ limit: polledItems }, this.signal);
    const isAfter = () => newest !== undefined && (found.at(-1)?.created_at ?? '') > newest.created_at;
    while (cursor !== null && isAfter() && found.length < newestMax) {
      const page = await read({ limit: pageMax, cursor }, this.signal);
      found = [...found, ...page.items];
      cursor = page.cursor;
    }
    return found;
  }

  async refresh() {
    if (document.hidden || this.#cursor === undefined) return;
    const { idOf, ask, merge = fresher } = this.options;
    const newest = await this.#readNewest();
    const asked = (await ask?.(newest, this.#items, this.signal)) ?? [];
    const fresh = new Map([...newest, ...asked].map((item) => [idOf(item), item]));
    const isAsked = new Set(asked.map(idOf));
    const [added, [top]] = [this.#unknown(newest), this.#items];
    const all = [...added, ...this.#items];
    // An item may come to match a filter, or to be committed, after younger ones.
    if (top !== undefined && added.some((item) => item.created_at < top.created_at))
      all.sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : 0));
    const before = this.#items;
    this.#items = all.map((item) => {
      const read = fresh.get(idOf(item));
      return read === undefined ? item : merge(item, read, isAsked.has(idOf(item)));
    });
    if (this.#items.some((item, index) => item !== before[index])) this.#changed();
  }

  async poll() {
    while (!this.signal.aborted) {
      await pause(this.options.pollMs);
      if (!this.signal.aborted) await this.refresh().catch(() => undefined);
    }
  }
}

/**
 * Reads until the component is removed.
 *
 * @template {{ created_at: string }} Item
 * @param {FeedOptions<Item>} options the first ones hold
 */
export function useFeed(options) {
  const signal = useStopping();
  const [feed, setFeed] = useState(
    /** @type {Feed<Item>} */ ({ items: [], isRead: false, isWhole: false, problem: null }),
  );
  const reader = useRef(/** @type {Reader<Item> | null} */ (null));
  reader.current ??= new Reader(options, signal, setFeed);
  const { current } = reader;
  useEffect(() => {
    void current.loadMore();
    if (options.pollMs > 0) void current.poll();
  }, []);
  return { ...feed, loadMore: () => current.loadMore() };
}
