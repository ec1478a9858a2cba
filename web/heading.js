import { elementOf } from './elements.js';

/**
 * Shows what plays: in the heading, the name of the window, and by what the page leaves out.
 *
 * @param {import('./addresses.js').Choice} choice
 */
export function showHeading({ hash, title: given, isClean, isEmbedded }) {
  document.body.toggleAttribute('data-embedded', isEmbedded);
  document.body.toggleAttribute('data-clean', isClean && hash !== '');
  document.body.toggleAttribute('data-titled', given !== '' && hash !== '');
  const name = given === '' ? hash : given;
  document.title = hash === '' ? 'Reelwright player' : isClean ? name : `${name} · Reelwright player`;
  const title = elementOf('title', HTMLElement);
  title.textContent = hash === '' ? 'No stream selected' : name;
  // The name of the product, which is the heading otherwise, is not on a clean page.
  if (isClean) title.role = 'heading';
  else title.removeAttribute('role');
  title.ariaLevel = isClean ? '1' : null;
}
