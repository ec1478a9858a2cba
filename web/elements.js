/**
 * The element of the page with this id.
 *
 * @template {Element} Kind
 * @param {string} id
 * @param {new () => Kind} kind its class, such as `HTMLButtonElement`
 * @returns {Kind}
 */
export function elementOf(id, kind) {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`the page has no ${kind.name} with the id ${id}`);
}
