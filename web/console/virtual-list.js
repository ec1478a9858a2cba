import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './base.js';

// A list of jobs of any length: only the rows in view are elements. Rows have one height, which style.css sets by the window's
// width, so the place of each is arithmetic.

/** @import { AnyJob, ComponentChildren } from './types.ts' */

/** Rows beyond each edge of the view, so that a fast scroll shows no gap. */
const overscan = 6;

/** @param {Element} scroller */
const rowHeightOf = (scroller) => Number.parseFloat(getComputedStyle(scroller).getPropertyValue('--row-height')) || 44;

/** @param {EventTarget | null} target */
const rowOf = (target) => (target instanceof Element ? target.closest('[aria-rowindex]') : null);
/** @param {Element} row */
const indexOf = (row) => Number(row.getAttribute('aria-rowindex')) - 2;

/** The scrolled element, and which rows are in view. @param {number} count */
function useRange(count) {
  const scroller = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [range, setRange] = useState({ first: 0, last: -1, height: 44 });
  const measure = () => {
    const element = scroller.current;
    if (element === null) return;
    const height = rowHeightOf(element);
    element.parentElement?.toggleAttribute('data-scrolls', count * height > element.clientHeight);
    const first = Math.max(0, Math.floor(element.scrollTop / height) - overscan);
    const last = Math.min(count - 1, Math.ceil((element.scrollTop + element.clientHeight) / height) + overscan);
    setRange((before) =>
      before.first === first && before.last === last && before.height === height ? before : { first, last, height },
    );
  };
  const latest = useRef(measure);
  latest.current = measure;
  useEffect(() => {
    let frame = 0;
    const schedule = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => latest.current());
    };
    const element = scroller.current;
    const resizing = new ResizeObserver(schedule);
    if (element !== null) resizing.observe(element);
    element?.addEventListener('scroll', schedule, { passive: true });
    return () => {
      element?.removeEventListener('scroll', schedule);
      resizing.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
  return { scroller, range, measure };
}

/**
 * @param {object} props
 * @param {string} props.label
 * @param {readonly AnyJob[]} props.items
 * @param {(item: AnyJob) => string} props.keyOf
 * @param {(item: AnyJob) => ComponentChildren} props.cells
 * @param {(first: number, last: number) => void} props.onRange is called with the first and the last index in view
 */
export function VirtualList({ label, items, keyOf, cells, onRange }) {
  const { scroller, range, measure } = useRange(items.length);
  const before = useRef(items);
  /** The row with the focus stays, or the keyboard would lose its place. */
  const focused = useRef(/** @type {string | null} */ (null));
  const wanted = useRef(/** @type {number | null} */ (null));

  // What is in view stays there when rows come above it.
  useLayoutEffect(() => {
    const [element, was] = [scroller.current, before.current];
    before.current = items;
    if (element !== null && was !== items && element.scrollTop > 0) {
      const height = rowHeightOf(element);
      const top = Math.floor(element.scrollTop / height);
      const item = was[top];
      const index = item === undefined ? -1 : items.findIndex((each) => keyOf(each) === keyOf(item));
      if (index > top) element.scrollTop += (index - top) * height;
    }
    measure();
  }, [items]);
  useEffect(() => onRange(range.first, range.last), [range, items]);
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const link = scroller.current?.querySelector(`[aria-rowindex="${wanted.current + 2}"] a`);
    if (!(link instanceof HTMLElement)) return;
    wanted.current = null;
    link.focus({ preventScroll: true });
  });

  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const [row, element] = [rowOf(event.target), scroller.current];
    if (step === 0 || row === null || element === null) return;
    const index = indexOf(row) + step;
    if (index < 0 || index >= items.length) return;
    event.preventDefault();
    const height = rowHeightOf(element);
    const bottom = (index + 1) * height - element.clientHeight;
    element.scrollTop = Math.max(bottom, Math.min(element.scrollTop, index * height));
    wanted.current = index;
    const link = element.querySelector(`[aria-rowindex="${index + 2}"] a`);
    if (link instanceof HTMLElement) link.focus({ preventScroll: true });
    else measure();
  };
  const onFocusIn = (/** @type {FocusEvent} */ { target }) => {
    const row = rowOf(target);
    const item = row === null ? undefined : items[indexOf(row)];
    focused.current = item === undefined ? null : keyOf(item);
    wanted.current = null;
  };
  const onFocusOut = () => {
    focused.current = null;
  };

  const shown = items.slice(range.first, range.last + 1).map((item, index) => ({ item, index: range.first + index }));
  const kept = focused.current === null ? -1 : items.findIndex((item) => keyOf(item) === focused.current);
  const keptItem = kept < range.first || kept > range.last ? items[kept] : undefined;
  if (keptItem !== undefined) shown.push({ item: keptItem, index: kept });
  return html`<div ref=${scroller} class="rows" role="rowgroup" tabindex="0" aria-label=${label}
    onKeyDown=${onKeyDown} onFocusIn=${onFocusIn} onFocusOut=${onFocusOut}>
    <div class="sizer" style=${{ height: `${items.length * range.height}px` }}>
      ${shown.map(
        ({ item, index }) => html`<div key=${keyOf(item)} class="row" role="row" aria-rowindex=${index + 2}
          style=${{ transform: `translateY(${index * range.height}px)` }}>${cells(item)}</div>`,
      )}
    </div>
  </div>`;
}
