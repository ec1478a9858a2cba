/**
 * The rights of API keys. `submit` also changes the title and the metadata of a media, `delete` everything else that
 * `PATCH` sets, such as its expiry, `publish` what is played of it, and rollouts. `admin` is every right, and the only
 * one that makes and revokes keys.
 */
export const rights = ['read', 'submit', 'upload', 'import', 'delete', 'publish', 'admin'] as const;
export type Right = (typeof rights)[number];

/**
 * The subject of an operation of the API, for a key with a `hash_prefix`:
 *
 * - `job`, `media`, `upload`, `import`: the one that the path names, which is missing for a key that does not own it;
 * - `own`: the operation itself looks at each hash that it takes or shows;
 * - `nothing`: the operation names no media;
 * - `everything`: media of every owner at once, which is refused.
 */
export type Subject = 'job' | 'media' | 'upload' | 'import' | 'own' | 'nothing' | 'everything';

/** Whether a key with the rights `given` may do what needs the right `needed`. */
export function includesRight(given: readonly Right[], needed: Right): boolean {
  return given.includes(needed) || given.includes('admin');
}
