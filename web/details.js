import { elementOf } from './elements.js';

// The details of a clean page: the figures of playback and the form that chooses a stream, behind a button.

/** @param {boolean} [isOpen] the other way around by default */
export function toggleDetails(isOpen) {
  const isShown = document.body.toggleAttribute('data-details', isOpen);
  elementOf('details-open', HTMLButtonElement).setAttribute('aria-expanded', String(isShown));
}

export function wireDetails() {
  elementOf('details-open', HTMLButtonElement).addEventListener('click', () => toggleDetails());
}
