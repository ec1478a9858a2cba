// The hashes that were played last, never a token, as suggestions of the field.

const recentKey = 'reelwright.recent';

function recentHashes() {
  try {
    const hashes = JSON.parse(localStorage.getItem(recentKey) ?? '[]');
    return Array.isArray(hashes) ? hashes.filter((hash) => typeof hash === 'string') : [];
  } catch {
    return [];
  }
}

export function showRecent(hashes = recentHashes()) {
  document.getElementById('recent').replaceChildren(...hashes.map((hash) => new Option(hash, hash)));
}

export function remember(hash) {
  const hashes = [hash, ...recentHashes().filter((known) => known !== hash)].slice(0, 12);
  try {
    localStorage.setItem(recentKey, JSON.stringify(hashes));
  } catch {
    // The browser stores nothing: playback works without.
  }
  showRecent(hashes);
}
