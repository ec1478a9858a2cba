import { elementOf } from './elements.js';

// The details of a clean page: the figures of playback and the form that chooses a stream, behind a button.

export function wireDetails() {
  const button = elementOf('details-open', HTMLButtonElement);
  button.addEventListener('click', () => {
    const isOpen = document.body.toggleAttribute('data-details');
    button.setAttribute('aria-expanded', String(isOpen));
  });
}
