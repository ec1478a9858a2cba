/** After every hash, which is ASCII. */
export const afterEveryHash = '\u{10ffff}';

/** The first hash that begins with `prefix`, and what lies after the last, in the collation `C`. */
export function hashRange(prefix: string): readonly [from: string, before: string] {
  return [prefix, `${prefix}${afterEveryHash}`];
}
