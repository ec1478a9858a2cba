/** The kinds of image that are decoded, by their first bytes. */
const kinds: readonly (readonly [kind: string, matches: (head: Buffer) => boolean])[] = [
  ['jpeg', (head) => head.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))],
  ['png', (head) => head.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))],
  ['webp', (head) => head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP'],
  ['gif', (head) => /^GIF8[79]a/.test(head.toString('latin1', 0, 6))],
  ['heif', (head) => /^ftyp(avif|avis|heic|heix|mif1|msf1)/.test(head.toString('latin1', 4, 12))],
];

/**
 * The kind of image that the first bytes belong to, or null for one that is not decoded.
 *
 * @param head at least the first 12 bytes
 */
export function imageKindOf(head: Buffer): string | null {
  return kinds.find(([, matches]) => matches(head))?.[0] ?? null;
}
