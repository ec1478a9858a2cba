import { open, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobResults } from '#domain/job-types/index.ts';
import { videoRoot } from '#domain/media/object-keys.ts';
import { streamContentType } from '#domain/media/content-types.ts';
import type { Command } from '#platform/commands/command.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { readMaster, readMedia, type RenditionLine } from './playlists.ts';

// What a caller can see of the results, seen: every object is there, and the stream, fetched over HTTP as a player
// would, decrypts with the key from the key endpoint and decodes without an error.

interface Reach {
  readonly baseUrl: string;
  readonly hash: string;
  readonly signal: AbortSignal;
}

interface StreamToCheck extends Reach {
  readonly token: string;
  readonly results: Pick<JobResults<'video:transcode'>, 'video_tracks' | 'audio_tracks' | 'encryption' | 'source'>;
  readonly tools: { readonly ffmpeg: string; readonly packager: string };
  /** Gets the fetched and the decrypted renditions; the caller removes it. */
  readonly workDir: string;
}

/** A rendition as decrypted, one fragmented MP4 file. */
export interface CheckedRendition {
  readonly kind: 'video' | 'audio';
  /** Address of its playlist. */
  readonly url: string;
  readonly file: string;
  readonly durationSec: number;
}

/**
 * Looks whether every object that the results name is there: in the media bucket, and under `/stream` what that serves.
 *
 * @returns how many there were
 */
export async function checkObjects(results: unknown, media: ObjectStore, reach: Reach): Promise<number> {
  const keys = [...new Set(objectKeysIn(results))];
  for (const key of keys) {
    const info = await media.head(key, reach.signal);
    if (info === null || info.sizeBytes === 0)
      throw new Error(`the media bucket has no object ${key}, or nothing in it`);
    const root = `${videoRoot(reach.hash)}/`;
    if (!key.startsWith(root) || streamContentType(key) === null) continue;
    const bytes = await fetchBytes(`${reach.baseUrl}/stream/${reach.hash}/${key.slice(root.length)}`, reach.signal);
    if (bytes.length !== info.sizeBytes)
      throw new Error(`/stream answers ${bytes.length} bytes for ${key}, of ${info.sizeBytes}`);
  }
  return keys.length;
}

/** Every text in a value that has the shape of an object key of the media bucket. */
function objectKeysIn(value: unknown): string[] {
  if (typeof value === 'string') return /^(?:videos|images)\/[0-9a-f]{2}\//.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(objectKeysIn);
}

/** Fetches an encrypted stream, decrypts and decodes all of it. @throws Error that says what is wrong with it */
export async function checkEncryptedStream(o: StreamToCheck): Promise<CheckedRendition[]> {
  const { encryption } = o.results;
  if (encryption === undefined) throw new Error('the results say nothing of an encryption');
  const key = await fetchKey(encryption.key_endpoint, o);
  const masterUrl = `${o.baseUrl}/stream/${o.hash}/master.m3u8`;
  const renditions = readMaster((await fetchBytes(masterUrl, o.signal)).toString());
  const [videos, audios] = (['video', 'audio'] as const).map((kind) => renditions.filter((line) => line.kind === kind));
  if (videos?.length !== o.results.video_tracks.length || audios?.length !== o.results.audio_tracks.length)
    throw new Error('the master playlist names other renditions than the results');
  await mkdir(o.workDir, { recursive: true });
  const checked: CheckedRendition[] = [];
  for (const [index, line] of renditions.entries())
    checked.push(await checkRendition(line, { ...o, key, kid: encryption.kid, masterUrl, index }));
  return checked;
}

type ToDecrypt = StreamToCheck & {
  readonly key: Buffer;
  readonly kid: string;
  readonly masterUrl: string;
  readonly index: number;
};

async function checkRendition({ kind, uri }: RenditionLine, o: ToDecrypt): Promise<CheckedRendition> {
  const url = new URL(uri, o.masterUrl).href;
  const playlist = readMedia((await fetchBytes(url, o.signal)).toString());
  const keyPath = playlist.key === null ? null : new URL(playlist.key.uri).pathname;
  if (playlist.key?.method !== 'SAMPLE-AES' || keyPath !== `/api/key/${o.hash}`)
    throw new Error(`${url} does not name the key endpoint as the key of SAMPLE-AES`);
  const encrypted = join(o.workDir, `${o.index}-encrypted.mp4`);
  const file = join(o.workDir, `${o.index}-${kind}.mp4`);
  await fetchInto(encrypted, [playlist.init, ...playlist.segments.map((segment) => segment.uri)], url, o);
  const keyHex = o.key.toString('hex');
  await runTool(
    {
      program: o.tools.packager,
      args: [
        `in=${encrypted},stream=${kind},out=${file}`,
        '--enable_raw_key_decryption',
        '--keys',
        `label=:key_id=${o.kid}:key=${keyHex}`,
        '--quiet',
      ],
      secrets: [keyHex],
    },
    `${url} does not decrypt`,
    o.signal,
  );
  const durationSec = await decodedDuration(file, url, o);
  const promisedSec = playlist.segments.reduce((sum, segment) => sum + segment.durationSec, 0);
  for (const expected of [promisedSec, o.results.source.duration_sec])
    if (Math.abs(durationSec - expected) > Math.max(0.5, expected * 0.02))
      throw new Error(`${url} decodes to ${durationSec.toFixed(2)} s instead of ${expected.toFixed(2)} s`);
  return { kind, url, file, durationSec };
}

/** The key, which must not be had without the token. */
async function fetchKey(endpoint: string, { token, signal }: StreamToCheck): Promise<Buffer> {
  const refused = await fetch(endpoint, { signal });
  if (refused.status !== 401) throw new Error(`the key endpoint answers ${refused.status} without a token`);
  const response = await fetch(endpoint, { headers: { authorization: `Bearer ${token}` }, signal });
  const key = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`the key endpoint answers ${response.status}: ${key.toString()}`);
  if (key.length !== 16) throw new Error(`the key endpoint gives a key of ${key.length} bytes`);
  return key;
}

async function fetchInto(file: string, uris: readonly string[], playlistUrl: string, o: ToDecrypt): Promise<void> {
  const output = await open(file, 'w');
  try {
    for (const [index, uri] of uris.entries()) {
      const bytes = await fetchBytes(new URL(uri, playlistUrl).href, o.signal);
      // The init segment says how the rest is encrypted, and with which key.
      const isProtected = bytes.includes('cbcs') && bytes.includes(Buffer.from(o.kid, 'hex'));
      if (index === 0 && !isProtected)
        throw new Error(`${uri} of ${playlistUrl} is not protected by cbcs with the key's id`);
      await output.write(bytes);
    }
  } finally {
    await output.close();
  }
}

/** Decodes all of a file. @throws Error at the decoder's first complaint */
async function decodedDuration(file: string, url: string, o: ToDecrypt): Promise<number> {
  const decode = ['-nostdin', '-v', 'error', '-xerror', '-err_detect', 'explode', '-i', file, '-progress', 'pipe:1'];
  const command = { program: o.tools.ffmpeg, args: [...decode, '-f', 'null', '-'] };
  const { stdout, stderrTail } = await runTool(command, `${url} does not decode`, o.signal);
  if (stderrTail.trim() !== '') throw new Error(`${url} decodes with errors: ${stderrTail.trim()}`);
  return Number([...stdout.matchAll(/^out_time_us=(\d+)/gm)].at(-1)?.[1] ?? Number.NaN) / 1e6;
}

async function runTool(command: Command, complaint: string, signal: AbortSignal) {
  const outcome = await runCommand(command, { signal, timeoutMs: 300_000 });
  if (outcome.exitCode !== 0) throw new Error(`${complaint}: ${outcome.stderrTail.trim().split('\n').at(-1)}`);
  return outcome;
}

async function fetchBytes(url: string, signal: AbortSignal): Promise<Buffer> {
  const response = await fetch(url, { signal, redirect: 'error' });
  if (response.status !== 200) throw new Error(`${url} is answered ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}
