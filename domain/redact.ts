/**
 * `text` without what might be a secret: runs of 32 or more hex digits (keys, KIDs, digests), credentials and queries
 * of URLs, Bearer tokens. For the output of tools before it is stored or shown. Takes time linear in the text, which
 * may be hostile.
 */
export function redact(text: string): string {
  return text
    .replace(/:\/\/[^\s"'<>]+/g, redactAddress)
    .replace(/\b(bearer)\s+[\w.~+/=-]+/gi, '$1 ***')
    .replace(/[0-9a-f]{32,}/gi, '***');
}

/** A URL from its `://` on; one may stand in the path of another. */
function redactAddress(address: string): string {
  const query = address.indexOf('?');
  const path = query === -1 ? address : address.slice(0, query);
  const parts = path.split('://').map((part) => {
    const authority = part.slice(0, part.search(/[/#]|$/));
    const at = authority.lastIndexOf('@');
    return at === -1 ? part : `***${part.slice(at)}`;
  });
  return `${parts.join('://')}${query === -1 ? '' : '?***'}`;
}
