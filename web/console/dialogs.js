import { useEffect, useRef, useState } from 'preact/hooks';
import { textOf } from './api.js';
import { html } from './base.js';

// Short messages, and questions before an action that cannot be taken back.

/** @import { OpenQuestion, Question, Toast } from './types.ts' */

const toastMs = 6000;
let toasts = 0;
/** @type {(toast: Toast) => void} */
let show = () => undefined;
/** @type {(question: OpenQuestion) => void} */
let ask = () => undefined;

/** A short message that screen readers read out too, and that disappears. @param {string} text */
export function announce(text, kind = /** @type {'info' | 'fault'} */ ('info')) {
  toasts += 1;
  show({ text, kind, number: toasts });
}

/** @param {unknown} problem */
export const announceProblem = (problem) => announce(textOf(problem), 'fault');

/** Asks a question with fields: their values, or null unless the person confirms. @param {Question} question @returns {Promise<FormData | null>} */
export const asked = (question) => new Promise((resolve) => ask({ ...question, resolve }));

/** Whether a person confirms. @param {Question} question */
export const confirmation = async (question) => (await asked(question)) !== null;

/** Answers an open question with no: its view is left. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
}

export function Toasts() {
  const [shown, setShown] = useState(/** @type {readonly Toast[]} */ ([]));
  show = (toast) => {
    setShown((before) => [...before, toast]);
    setTimeout(() => setShown((before) => before.filter((each) => each !== toast)), toastMs);
  };
  return html`<div id="toasts" role="status" aria-live="polite">
    ${shown.map(({ text, kind, number }) => html`<p key=${number} class="toast" data-kind=${kind}>${text}</p>`)}
  </div>`;
}

export function Dialog() {
  const [question, setQuestion] = useState(/** @type {OpenQuestion | null} */ (null));
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  ask = setQuestion;
  useEffect(() => dialog.current?.showModal(), [question]);
  if (question === null) return null;
  const { title, text, action, body = null, isSafe = false, resolve } = question;
  const end = () => {
    const form = dialog.current?.querySelector('form');
    resolve(dialog.current?.returnValue === 'confirmed' && form ? new FormData(form) : null);
    setQuestion(null);
  };
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    dialog.current?.close('confirmed');
  };
  return html`<dialog ref=${dialog} class="dialog" aria-labelledby="confirm-title" onClose=${end}>
    <form onSubmit=${onSubmit}>
      <h2 id="confirm-title">${title}</h2>
      <p>${text}</p>
      ${body}
      <div class="actions">
        <button type="button" class="button" onClick=${() => dialog.current?.close()}>${isSafe ? 'Not now' : 'Keep it'}</button>
        <button type="submit" class=${`button ${isSafe ? 'primary' : 'danger'}`}>${action}</button>
      </div>
    </form>
  </dialog>`;
}
