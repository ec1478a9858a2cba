/**
 * `text` without what might be a secret: runs of 32 or more hex digits (keys, KIDs, digests), credentials and queries
 * of URLs, Bearer tokens. For the output of tools before it is stored or shown.
 */
export function redact(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>@]*@/gi, '$1***@')
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s?#"'<>]*)\?[^\s"'<>]*/gi, '$1?***')
    .replace(/\b(bearer)\s+[\w.~+/=-]+/gi, '$1 ***')
    .replace(/(?<![0-9a-z])(?:0x)?[0-9a-f]{32,}(?![0-9a-z])/gi, '***');
}
