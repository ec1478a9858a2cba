import { Parser } from 'm3u8-parser';

// A stream as a player gets it: over HTTP, its playlists read by a parser that is not ours.

type Manifest = Parser['manifest'];

/** An object that was fetched. */
export interface Fetched {
  readonly url: string;
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
}

export async function fetchObject(url: string, headers: Record<string, string> = {}): Promise<Fetched> {
  const response = await fetch(url, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { url, status: response.status, type: response.headers.get('content-type') ?? '', bytes };
}

/** A playlist, as the parser reads it. @throws Error when it is not there */
export async function fetchPlaylist(url: string): Promise<{ text: string; manifest: Manifest }> {
  const { status, bytes } = await fetchObject(url);
  if (status !== 200) throw new Error(`${url}: ${status}`);
  const text = bytes.toString('utf8');
  const parser = new Parser();
  parser.push(text);
  parser.end();
  return { text, manifest: parser.manifest };
}
