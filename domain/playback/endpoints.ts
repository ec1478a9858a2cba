/** The public address of a media's content key: `{base_url}/api/key/<hash>` (section 2, `encryption.key_endpoint`). */
export function keyEndpoint(baseUrl: string, hash: string): string {
  return `${baseUrl}/api/key/${encodeURIComponent(hash)}`;
}
