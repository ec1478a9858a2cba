/** A version by the rules of Semantic Versioning, without build metadata. */
export const toolVersionPattern = /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/** Whether one version comes before another, by the precedence of Semantic Versioning. */
export function isOlderVersion(version: string, than: string): boolean {
  const [[numbers, own], [otherNumbers, other]] = [partsOf(version), partsOf(than)];
  const order = compare(numbers, otherNumbers);
  if (order !== 0) return order < 0;
  // A pre-release comes before its release.
  if (own.length === 0 || other.length === 0) return own.length > other.length;
  return compare(own, other) < 0;
}

function partsOf(version: string): readonly [numbers: string[], preRelease: string[]] {
  const [, numbers = '', preRelease] = /^([\d.]+)(?:-(.+))?$/.exec(version) ?? [];
  return [numbers.split('.'), preRelease?.split('.') ?? []];
}

/** Numbers by value and before words, words by their characters, and fewer parts first. */
function compare(some: readonly string[], others: readonly string[]): number {
  for (const [index, one] of some.entries()) {
    const other = others[index];
    if (other === undefined) return 1;
    if (one === other) continue;
    const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
    if (isNumber && isOtherNumber && Number(one) !== Number(other)) return Number(one) - Number(other);
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
    return one < other ? -1 : 1;
  }
  return some.length - others.length;
}
