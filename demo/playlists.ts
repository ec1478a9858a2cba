// Reads HLS playlists (RFC 8216): the renditions of a master, and the key and segments of a rendition.

export interface RenditionLine {
  readonly kind: 'video' | 'audio';
  /** As in the playlist: relative to the playlist's address. */
  readonly uri: string;
}

export interface MediaPlaylist {
  readonly init: string;
  readonly segments: readonly { readonly uri: string; readonly durationSec: number }[];
  /** Null for a clear stream. */
  readonly key: { readonly method: string; readonly uri: string } | null;
}

/** The attributes of a tag: `TYPE=AUDIO,URI="a.m3u8"` → a record without the quotes. */
function attributesOf(line: string): Record<string, string> {
  const list = line.slice(line.indexOf(':') + 1);
  const found = list.matchAll(/([A-Z0-9-]+)=("[^"]*"|[^,]*)/g);
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, value.replaceAll('"', '')]));
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  if (lines[0] !== '#EXTM3U') throw new Error(`not a playlist: expected #EXTM3U first, found ${lines[0] ?? 'nothing'}`);
  return lines;
}

/** The distinct variants and audio renditions of a master playlist. */
export function readMaster(text: string): RenditionLine[] {
  const found = new Map<string, RenditionLine>();
  let isVariant = false;
  for (const line of linesOf(text)) {
    const { TYPE, URI } = line.startsWith('#EXT-X-MEDIA:') ? attributesOf(line) : {};
    if (TYPE === 'AUDIO' && URI !== undefined) found.set(URI, { kind: 'audio', uri: URI });
    // The variant of audio alone names the playlist of an audio rendition.
    if (!line.startsWith('#') && isVariant && !found.has(line)) found.set(line, { kind: 'video', uri: line });
    if (!line.startsWith('#') || line.startsWith('#EXT-X-STREAM-INF:')) isVariant = line.startsWith('#');
  }
  return [...found.values()];
}

/** A media playlist of fragmented MP4. @throws Error when it has no init segment, no segment, or no EXT-X-ENDLIST */
export function readMedia(text: string): MediaPlaylist {
  const lines = linesOf(text);
  const tag = (name: string) => lines.find((line) => line.startsWith(`#${name}:`));
  const init = attributesOf(tag('EXT-X-MAP') ?? '')['URI'];
  const key = attributesOf(tag('EXT-X-KEY') ?? '');
  const segments = lines.flatMap((line, index) => {
    if (line.startsWith('#')) return [];
    const before = lines.slice(0, index).findLast((earlier) => earlier.startsWith('#EXTINF:'));
    return [{ uri: line, durationSec: Number.parseFloat(before?.slice('#EXTINF:'.length) ?? '') }];
  });
  if (init === undefined || segments.length === 0)
    throw new Error('the media playlist has no init segment or no segment');
  if (!lines.includes('#EXT-X-ENDLIST')) throw new Error('the media playlist has no #EXT-X-ENDLIST');
  const { METHOD: method = 'NONE', URI: uri = '' } = key;
  return { init, segments, key: method === 'NONE' ? null : { method, uri } };
}
