/** The public address of a media's content key: `{base_url}/api/key/<hash>` (C14.4). */
export function keyEndpoint(baseUrl: string, hash: string): string {
  return `${baseUrl}/api/key/${encodeURIComponent(hash)}`;
}

/** The address of the W3C Clear Key licence of the same key. */
export function clearKeyAddress(endpoint: string): string {
  return `${endpoint}/clearkey`;
}
