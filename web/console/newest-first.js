import { useEffect, useRef, useState } from 'preact/hooks';
import { useStopping } from './base.js';
import { action, faultState } from './parts.js';

// A list that shows what came last: page after page by a button, and what comes meanwhile by polling.

/** @import { VNode } from 'preact' */

/**
 * @template Item
 * @typedef {{ items: Item[], cursor: string | null }} Page
 */

/**
 * @template Item
 * @typedef {object} Options
 * @property {(page: { limit: number, cursor?: string }, signal: AbortSignal) => Promise<Page<Item>>} read
 * @property {(newest: Item[], known: Item[], signal: AbortSignal) => Promise<Item[]>} [readOlder] reads known items
 *   again that may have changed and are not among the newest
 * @property {(item: Item) => string} idOf
 * @property {(item: Item) => string} groupOf what is shown as one
 * @property {() => VNode} empty
 * @property {number} pageSize
 * @property {number} pollMs
 */

/** How many of the newest are looked at again. */
const polledItems = 20;
/** Of a page, where more came since the last look. */
const pageMax = 100;
/** What came since the last look; more is found by the next reload. */
const newestMax = 2000;

/** The groups in their order, each with its items by id. A group keeps its place when an item comes to it. @template Item */
class Groups {
  /** @type {Map<string, Map<string, Item>>} */
  #groups = new Map();
  /** @type {Options<Item>} */
  #options;

  /** @param {Options<Item>} options */
  constructor(options) {
    this.#options = options;
  }

  /** @param {Item} item */
  isKnown(item) {
    const { groupOf, idOf } = this.#options;
    return this.#groups.get(groupOf(item))?.has(idOf(item)) ?? false;
  }

  /** @param {Item} item @param {boolean} isOnTop */
  take(item, isOnTop) {
    const { groupOf, idOf } = this.#options;
    const name = groupOf(item);
    const group = this.#groups.get(name);
    if (group !== undefined) group.set(idOf(item), item);
    else {
      const added = /** @type {const} */ ([name, new Map([[idOf(item), item]])]);
      this.#groups = new Map(isOnTop ? [added, ...this.#groups] : [...this.#groups, added]);
    }
  }

  get items() {
    return [...this.#groups.values()].flatMap((group) => [...group.values()]);
  }

  /** @returns {(readonly [name: string, items: Item[]])[]} */
  get all() {
    return [...this.#groups].map(([name, group]) => [name, [...group.values()]]);
  }
}

/**
 * The newest items, down to one that is known. What is older than the known ones has its place below them.
 *
 * @template Item
 * @param {Options<Item>} options @param {(item: Item) => boolean} isKnown @param {AbortSignal} signal
 */
async function readNewest({ read }, isKnown, signal) {
  let { items: found, cursor } = await read({ limit: polledItems }, signal);
  if (cursor === null || found.some(isKnown)) return found;
  while (cursor !== null && !found.some(isKnown) && found.length < newestMax) {
    const page = await read({ limit: pageMax, cursor }, signal);
    found = [...found, ...page.items];
    cursor = page.cursor;
  }
  const end = found.findIndex(isKnown);
  return end === -1 ? found : found.slice(0, end);
}

/**
 * Reads until the component is removed.
 *
 * @template Item
 * @param {Options<Item>} options the first ones hold
 */
export function useNewestFirst(options) {
  const signal = useStopping();
  const groups = useRef(/** @type {Groups<Item> | null} */ (null));
  groups.current ??= new Groups(options);
  const list = groups.current;
  const cursor = useRef(/** @type {string | null | undefined} */ (undefined));
  const [state, setState] = useState({ groups: list.all, problem: /** @type {unknown} */ (null), isRead: false });
  const changed = () => {
    if (!signal.aborted) setState({ groups: list.all, problem: null, isRead: true });
  };

  const loadPage = async () => {
    const after = cursor.current;
    try {
      const page = await options.read({ limit: options.pageSize, ...(after ? { cursor: after } : {}) }, signal);
      for (const item of page.items) list.take(item, false);
      cursor.current = page.cursor;
      changed();
    } catch (problem) {
      if (!signal.aborted) setState((before) => ({ ...before, problem }));
    }
  };
  const poll = async () => {
    if (document.hidden || cursor.current === undefined) return;
    const isKnown = list.isKnown.bind(list);
    const newest = await readNewest(options, isKnown, signal).catch(() => []);
    const older = (await options.readOlder?.(newest, list.items, signal).catch(() => [])) ?? [];
    if (signal.aborted || newest.length + older.length === 0) return;
    const before = JSON.stringify(list.all);
    for (const item of [...newest.toReversed(), ...older]) list.take(item, true);
    if (JSON.stringify(list.all) !== before) setState((shown) => ({ ...shown, groups: list.all }));
  };
  useEffect(() => {
    void loadPage();
    let timer = 0;
    const pollAgain = async () => {
      await poll();
      if (!signal.aborted) timer = window.setTimeout(() => void pollAgain(), options.pollMs);
    };
    timer = window.setTimeout(() => void pollAgain(), options.pollMs);
    return () => clearTimeout(timer);
  }, []);

  const isEmpty = state.isRead && state.groups.length === 0;
  return {
    groups: state.groups,
    message: state.problem === null ? (isEmpty ? options.empty() : null) : faultState(state.problem, loadPage),
    more: cursor.current ? action('Show more', loadPage) : null,
  };
}
