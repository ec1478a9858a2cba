import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Parser } from 'm3u8-parser';
import { runTool } from './media.ts';

// A stream as a player gets it: over HTTP, its playlists read by a parser that is not ours, its segments looked at by
// ffprobe.

type Manifest = Parser['manifest'];

/** An object that was fetched. */
export interface Fetched {
  readonly url: string;
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
}

/** A segment with what its samples say. Times in seconds. */
export interface ServedSegment {
  readonly url: string;
  readonly statedSec: number;
  readonly bytes: Buffer;
  readonly startSec: number;
  /** Of its samples together, as far as they are shown. */
  readonly durationSec: number;
  readonly samples: number;
}

/** A media playlist with its segments. */
export interface ServedTrack {
  readonly url: string;
  readonly text: string;
  readonly manifest: Manifest;
  readonly init: Fetched;
  readonly segments: readonly ServedSegment[];
}

const folders = new Set<string>();

/** Removes what `fetchTrack` put on disk. */
export async function removeFetched(): Promise<void> {
  await Promise.all([...folders].map((folder) => rm(folder, { recursive: true, force: true })));
  folders.clear();
}

export async function fetchObject(url: string, headers: Record<string, string> = {}): Promise<Fetched> {
  const response = await fetch(url, { headers });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { url, status: response.status, type: response.headers.get('content-type') ?? '', bytes };
}

/** What the parser makes of a playlist. @throws Error when it is not there */
export async function fetchPlaylist(url: string): Promise<{ text: string; manifest: Manifest }> {
  const { status, bytes } = await fetchObject(url);
  if (status !== 200) throw new Error(`${url}: ${status}`);
  const text = bytes.toString('utf8');
  const parser = new Parser();
  parser.push(text);
  parser.end();
  return { text, manifest: parser.manifest };
}

/** A track with all its segments. @throws Error when one of its URIs leads nowhere */
export async function fetchTrack(url: string): Promise<ServedTrack> {
  const { text, manifest } = await fetchPlaylist(url);
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-served-'));
  folders.add(folder);
  const fetchPart = async (uri: string) => {
    const found = await fetchObject(new URL(uri, url).href);
    if (found.status !== 200) throw new Error(`${url} names ${uri}: ${found.status}`);
    return found;
  };
  const init = await fetchPart(manifest.segments[0]?.map.uri ?? 'no-init');
  const segments: ServedSegment[] = [];
  for (const { uri, duration } of manifest.segments) {
    const { bytes, url: at } = await fetchPart(uri);
    const path = join(folder, 'segment.mp4');
    await writeFile(path, Buffer.concat([init.bytes, bytes]));
    segments.push({ url: at, statedSec: duration, bytes, ...(await samplesOf(path)) });
  }
  return { url, text, manifest, init, segments };
}

interface ProbedPacket {
  readonly pts: number;
  readonly dts: number;
  /** ffprobe leaves it out here and there. */
  readonly duration?: number;
}

/** The samples of a file's one track, in whole ticks of its timescale, so that nothing is rounded on the way. */
async function samplesOf(path: string): Promise<{ startSec: number; durationSec: number; samples: number }> {
  const shown = 'packet=pts,dts,duration:stream=time_base';
  const json = await runTool('ffprobe', ['-v', 'error', '-show_entries', shown, '-of', 'json', path]);
  const { packets, streams } = JSON.parse(json) as {
    packets: ProbedPacket[];
    streams: { time_base: string }[];
  };
  const [num = 1, den = 1] = (streams[0]?.time_base ?? '').split('/').map(Number);
  const [first, last] = [packets[0], packets.at(-1)];
  const lastTicks = last?.duration ?? (last?.dts ?? 0) - (packets.at(-2)?.dts ?? 0);
  const start = Math.min(...packets.map(({ pts }) => pts));
  // What an AAC decoder needs before it is right lies before 0, by the edit list, and is never played.
  const ticks = (last?.dts ?? 0) - (first?.dts ?? 0) + lastTicks + Math.min(0, start);
  return {
    startSec: (Math.max(0, start) * num) / den,
    durationSec: (ticks * num) / den,
    samples: packets.length,
  };
}

/** The RFC 6381 string of an H.264 init segment, out of its `avcC` box (ISO 14496-15, section 5.3.3.1.2). */
export function avcCodec(init: Buffer): string {
  const at = init.indexOf('avcC', 0, 'latin1');
  return `avc1.${init.subarray(at + 5, at + 8).toString('hex')}`;
}

/** What an audio init segment's sample entry says (ISO 14496-12, section 12.2.3). */
export function audioOf(init: Buffer): { channels: number; sampleRate: number } {
  const encrypted = init.indexOf('enca', 0, 'latin1');
  // An encrypted entry names what it was before further down, as `mp4a` too.
  const entry = encrypted < 0 ? init.indexOf('mp4a', 0, 'latin1') : encrypted;
  // The type, 6 reserved bytes, a data reference, 8 reserved bytes; the rate is a fixed-point number with 16 bits each.
  return { channels: init.readUInt16BE(entry + 20), sampleRate: init.readUInt32BE(entry + 28) / 65_536 };
}
