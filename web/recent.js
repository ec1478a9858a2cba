import { elementOf } from './elements.js';

// The hashes that were played last, never a token, as suggestions of the field.

const recentKey = 'reelwright.recent';

/** @returns {string[]} */
function recentHashes() {
  try {
    /** @type {unknown} */
    const hashes = JSON.parse(localStorage.getItem(recentKey) ?? '[]');
    return Array.isArray(hashes) ? hashes.filter((hash) => typeof hash === 'string') : [];
  } catch {
    return [];
  }
}

export function showRecent(hashes = recentHashes()) {
  elementOf('recent', HTMLDataListElement).replaceChildren(...hashes.map((hash) => new Option(hash, hash)));
}

/** @param {string} hash */
export function remember(hash) {
  const hashes = [hash, ...recentHashes().filter((known) => known !== hash)].slice(0, 12);
  try {
    localStorage.setItem(recentKey, JSON.stringify(hashes));
  } catch {
    // The browser stores nothing: playback works without.
  }
  showRecent(hashes);
}
