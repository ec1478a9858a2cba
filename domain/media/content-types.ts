/** What `/stream` serves, by extension (section 4; the types are in decisions.md, "content types"). */
const streamed: Readonly<Record<string, string>> = {
  m3u8: 'application/vnd.apple.mpegurl',
  m4s: 'video/iso.segment',
  mp4: 'video/mp4',
  jpg: 'image/jpeg',
  webp: 'image/webp',
};

const storedBeside: Readonly<Record<string, string>> = {
  png: 'image/png',
  avif: 'image/avif',
  gif: 'image/gif',
  json: 'application/json',
  mpd: 'application/dash+xml',
  vtt: 'text/vtt',
};

function extensionOf(key: string): string {
  return /\.([a-z0-9]+)$/.exec(key)?.[1] ?? '';
}

/** The content type of a delivered object by its key; null for what `/stream` does not serve. */
export function streamContentType(key: string): string | null {
  const extension = extensionOf(key);
  if (extension === 'mp4' && /(?:^|\/)audio\//.test(key)) return 'audio/mp4';
  return streamed[extension] ?? null;
}

/** The content type that an object is stored with. */
export function storedContentType(key: string): string {
  return streamContentType(key) ?? storedBeside[extensionOf(key)] ?? 'application/octet-stream';
}
