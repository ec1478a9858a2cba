/** So many inserted, missing or wrong characters still count as a typing error. */
const editsMax = 2;

/**
 * The name that was most likely meant by `given`: one that differs in case and separators alone, or by at most two
 * characters. Null when no name is near.
 */
export function nearestName(given: string, names: readonly string[]): string | null {
  const bare = bareOf(given);
  const ranked = names
    .map((name) => ({ name, edits: bareOf(name) === bare ? 0 : editDistance(given, name) }))
    .filter((one) => one.edits <= Math.min(editsMax, one.name.length / 3))
    .toSorted((a, b) => a.edits - b.edits);
  return ranked[0]?.name ?? null;
}

function bareOf(name: string): string {
  return name.slice(0, 256).toLowerCase().replaceAll(/[_-]/g, '');
}

/**
 * How many characters are to be inserted, removed, replaced or swapped with their neighbour to get from one word to the
 * other (optimal string alignment); `Infinity` where the lengths alone differ by more than two.
 */
export function editDistance(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > editsMax) return Infinity;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  let rowBefore: readonly number[] = [];
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? (rowBefore[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [rowBefore, row] = [row, next];
  }
  return row[to.length] ?? Infinity;
}
