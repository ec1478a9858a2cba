import { h } from 'preact';
import { useState } from 'preact/hooks';
import { retryAfterOf, statusOf, textOf } from './api.js';
import { html, useStopping } from './base.js';
import { announceProblem, confirmation } from './dialogs.js';

// One action on many rows, such as a retry of every failed job: a few at once, with its progress and what was refused.

/** @import { BulkAction, BulkItem, BulkState } from './types.ts' */

/** No run takes more: a mistake ends, and a filter with more is worked through in turns. */
export const bulkMax = 1000;
const atOnce = 4;
const refusedShown = 20;

/** @param {number} seconds */
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Calls `act` for each item. A refusal leaves the others; where the server asks to wait, the same is tried again.
 *
 * @param {readonly BulkItem[]} items @param {(item: BulkItem) => Promise<unknown>} act
 * @param {{ signal: AbortSignal, onEnd: (item: BulkItem, problem: unknown) => void }} options
 */
export async function forEachOf(items, act, { signal, onEnd }) {
  const waiting = items.values();
  const run = async (/** @type {BulkItem} */ item) => {
    while (!signal.aborted) {
      try {
        await act(item);
        return onEnd(item, null);
      } catch (problem) {
        if (statusOf(problem) !== 429 && statusOf(problem) !== 503) return onEnd(item, problem);
        await pause(retryAfterOf(problem) || 1);
      }
    }
  };
  const lane = async () => {
    for (const item of waiting) await run(item);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** @type {BulkState} */
const idle = { total: 0, done: 0, refused: [], isRunning: false };

/**
 * Buttons for actions on the rows that are chosen, or that a filter has, and what becomes of them.
 *
 * @param {{ actions: readonly BulkAction[], onDone: () => void }} props
 */
export function Bulk({ actions, onDone }) {
  const signal = useStopping();
  const [state, setState] = useState(idle);
  const [stopping, setStopping] = useState(/** @type {AbortController | null} */ (null));
  const run = async (/** @type {BulkAction} */ { title, text, button, items, act }) => {
    const chosen = (await items(bulkMax, signal)).slice(0, bulkMax);
    const count = chosen.length.toLocaleString('en');
    const isMost = chosen.length === bulkMax ? ' There may be more; repeat it for the rest.' : '';
    const question = { title: title(count), text: `${text}${isMost}`, action: button };
    if (chosen.length === 0 || !(await confirmation(question))) return;
    const own = new AbortController();
    setStopping(own);
    setState({ ...idle, total: chosen.length, isRunning: true });
    await forEachOf(chosen, act, {
      signal: AbortSignal.any([signal, own.signal]),
      onEnd: (item, problem) =>
        setState((before) => ({
          ...before,
          done: before.done + 1,
          refused:
            problem === null
              ? before.refused
              : [...before.refused, `${item.hash} (${item.job_id.slice(0, 8)}): ${textOf(problem)}`],
        })),
    });
    setState((before) => ({ ...before, isRunning: false }));
    onDone();
  };
  const buttons = actions.map(
    (each) => html`<button key=${each.label} type="button" class=${`button small ${each.kind ?? ''}`}
      onClick=${() => void run(each).catch(announceProblem)}>${each.label}</button>`,
  );
  const stop = html`<button type="button" class="button small" onClick=${() => stopping?.abort()}>Stop</button>`;
  return html`<div class="bulk">
    ${state.isRunning ? stop : buttons}
    ${state.total > 0 && h(Progress, { state })}
  </div>`;
}

/** @param {{ state: BulkState }} props */
function Progress({ state: { total, done, refused, isRunning } }) {
  const accepted = done - refused.length;
  const texts = [`${accepted} of ${total} done`, refused.length > 0 ? `${refused.length} refused` : ''];
  return html`
    ${isRunning && html`<progress max=${total} value=${done} aria-label="Progress"></progress>`}
    <p class="soft" role="status">${texts.filter((text) => text !== '').join(', ')}${isRunning ? ' …' : '.'}</p>
    ${
      refused.length > 0 &&
      html`<details class="refused"><summary>What was refused</summary>
        <ul class="plain">${refused.slice(0, refusedShown).map((text) => html`<li>${text}</li>`)}</ul>
        ${refused.length > refusedShown && html`<p class="soft">And ${refused.length - refusedShown} more.</p>`}
      </details>`
    }`;
}

/** Which rows are chosen; `toggle` chooses a row or all of `ids`. */
export function useSelection() {
  const [chosen, setChosen] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
  const toggle = (/** @type {readonly string[]} */ ids, /** @type {boolean} */ isOn) =>
    setChosen((before) => {
      const after = new Set(before);
      for (const id of ids)
        if (isOn) after.add(id);
        else after.delete(id);
      return after;
    });
  return { chosen, toggle, clear: () => setChosen(new Set()) };
}

/**
 * The box that chooses a row, or all of them.
 *
 * @param {string} label @param {boolean} isOn @param {(isOn: boolean) => void} onChange
 */
export const choiceBox = (label, isOn, onChange) =>
  html`<input type="checkbox" class="choice" aria-label=${label} checked=${isOn}
    onChange=${(/** @type {Event} */ { currentTarget }) =>
      onChange(currentTarget instanceof HTMLInputElement && currentTarget.checked)} />`;
