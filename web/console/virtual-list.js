// A list of any length: only the rows in view are elements. Rows have one height, which style.css sets by the window's
// width, so the place of each is arithmetic.

/** Rows beyond each edge of the view, so that a fast scroll shows no gap. */
const overscan = 6;

/**
 * @param scroller the element that scrolls; its `--row-height` is the height of a row in pixels
 * @param keyOf an item's identity
 * @param create makes a row of an item; `update` shows a changed item in it
 * @param onRange is called with the first and the last index in view
 */
export function createVirtualList({ scroller, keyOf, create, update, onRange }) {
  const sizer = document.createElement('div');
  sizer.className = 'sizer';
  scroller.append(sizer);
  const rows = new Map();
  let items = [];
  let frame = 0;

  const rowHeight = () => Number.parseFloat(getComputedStyle(scroller).getPropertyValue('--row-height')) || 44;

  const draw = () => {
    frame = 0;
    const height = rowHeight();
    sizer.style.height = `${items.length * height}px`;
    scroller.parentElement?.toggleAttribute('data-scrolls', items.length * height > scroller.clientHeight);
    const first = Math.max(0, Math.floor(scroller.scrollTop / height) - overscan);
    const last = Math.min(
      items.length - 1,
      Math.ceil((scroller.scrollTop + scroller.clientHeight) / height) + overscan,
    );
    const wanted = new Set();
    for (let index = first; index <= last; index += 1) {
      const item = items[index];
      const key = keyOf(item);
      wanted.add(key);
      let row = rows.get(key);
      if (row === undefined) {
        row = { node: create(item), item };
        rows.set(key, row);
        sizer.append(row.node);
      } else if (row.item !== item) {
        row.item = item;
        update(row.node, item);
      }
      row.node.style.transform = `translateY(${index * height}px)`;
      row.node.setAttribute('aria-rowindex', String(index + 2));
    }
    for (const [key, { node }] of rows) {
      // A row with the focus stays, or the keyboard would lose its place.
      if (wanted.has(key) || node.contains(document.activeElement)) continue;
      node.remove();
      rows.delete(key);
    }
    onRange(first, last);
  };
  const schedule = () => (frame ||= requestAnimationFrame(draw));

  scroller.addEventListener('scroll', schedule, { passive: true });
  const resizing = new ResizeObserver(schedule);
  resizing.observe(scroller);
  scroller.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest('[aria-rowindex]');
    if (step === undefined || row === null) return;
    const index = Number(row.getAttribute('aria-rowindex')) - 2 + step;
    if (index < 0 || index >= items.length) return;
    event.preventDefault();
    const [top, height] = [index * rowHeight(), rowHeight()];
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + height > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = top + height - scroller.clientHeight;
    draw();
    rows.get(keyOf(items[index]))?.node.querySelector('a')?.focus({ preventScroll: true });
  });

  return {
    /** What is in view stays there when rows come above it. */
    show(newItems) {
      const height = rowHeight();
      const top = Math.floor(scroller.scrollTop / height);
      const key = scroller.scrollTop > 0 && top < items.length ? keyOf(items[top]) : null;
      items = newItems;
      const index = key === null ? -1 : items.findIndex((item) => keyOf(item) === key);
      if (index > top) {
        sizer.style.height = `${items.length * height}px`;
        scroller.scrollTop += (index - top) * height;
      }
      schedule();
    },
    destroy() {
      resizing.disconnect();
      cancelAnimationFrame(frame);
    },
  };
}
