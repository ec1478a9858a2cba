import { toggleDetails } from './details.js';
import { elementOf } from './elements.js';

// The message over the video: why the stream does not play, and what the viewer can do.

const box = elementOf('message', HTMLElement);
const buttons = {
  retry: elementOf('retry', HTMLButtonElement),
  'enter-token': elementOf('enter-token', HTMLButtonElement),
};

/** @param {import('./embedding.js').Report} report informs the page around */
export function createMessage(report) {
  buttons['enter-token'].addEventListener('click', () => {
    // A clean page hides the field.
    toggleDetails(true);
    elementOf('token', HTMLInputElement).focus();
  });
  return {
    /** The problem that is shown; undefined without one. */
    kind: () => box.dataset['kind'],
    /**
     * @param {import('./problems.js').PlaybackProblem} problem
     * @param {number} [tries] how often it was tried again
     */
    show({ kind, title, message: text, actions }, tries = 0) {
      const message = tries > 1 ? `${text} Tried again ${tries} times.` : text;
      report('error', { kind, title, message });
      elementOf('message-title', HTMLElement).textContent = title;
      elementOf('message-text', HTMLElement).textContent = message;
      box.dataset['kind'] = kind;
      buttons.retry.hidden = !actions.includes('retry');
      buttons['enter-token'].hidden = !actions.includes('enter-token');
      box.hidden = false;
      elementOf('big-play', HTMLButtonElement).hidden = true;
    },
    hide() {
      box.hidden = true;
      delete box.dataset['kind'];
    },
    /** @param {() => void} retry */
    onRetry: (retry) => buttons.retry.addEventListener('click', retry),
  };
}
