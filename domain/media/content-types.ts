/** The objects that `/stream` serves, by extension (docs/reference/contract.md). */
const streamed: ReadonlyMap<string, string> = new Map([
  ['m3u8', 'application/vnd.apple.mpegurl'],
  ['mpd', 'application/dash+xml'],
  ['m4s', 'video/iso.segment'],
  ['mp4', 'video/mp4'],
  ['jpg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['vtt', 'text/vtt'],
]);

/** Further types of stored objects. */
const storedOnly: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['avif', 'image/avif'],
  ['gif', 'image/gif'],
  ['json', 'application/json'],
]);

function extensionOf(key: string): string {
  return /\.([a-z0-9]+)$/.exec(key)?.[1] ?? '';
}

/** The content type of a delivered object by its key; null for an object that `/stream` does not serve. */
export function streamContentType(key: string): string | null {
  const extension = extensionOf(key);
  if (extension === 'mp4' && /(?:^|\/)audio\//.test(key)) return 'audio/mp4';
  return streamed.get(extension) ?? null;
}

/** The content type that an object is stored with. */
export function storedContentType(key: string): string {
  return streamContentType(key) ?? storedOnly.get(extensionOf(key)) ?? 'application/octet-stream';
}
