import { open, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobResults } from '#domain/job-types/index.ts';
import { videoRoot } from '#domain/media/object-keys.ts';
import { streamContentType } from '#domain/media/content-types.ts';
import type { Command } from '#platform/commands/command.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { readMaster, readMedia, type RenditionLine } from './playlists.ts';

// Checks the results as a caller: every object exists, and the stream, fetched over HTTP as a player does, decrypts
// with the key from the key endpoint and decodes without an error.

interface Service {
  readonly baseUrl: string;
  readonly hash: string;
  readonly signal: AbortSignal;
}

interface StreamToCheck extends Service {
  readonly token: string;
  readonly results: Pick<JobResults<'video:transcode'>, 'video_tracks' | 'audio_tracks' | 'encryption' | 'source'>;
  readonly tools: { readonly ffmpeg: string; readonly packager: string };
  /** Folder for the fetched and the decrypted renditions; the caller removes it. */
  readonly workDir: string;
}

/** A decrypted rendition, one fragmented MP4 file. */
export interface CheckedRendition {
  readonly kind: 'video' | 'audio';
  /** Address of its playlist. */
  readonly url: string;
  readonly file: string;
  readonly durationSec: number;
}

/**
 * Checks that every object named in the results exists in the media bucket, and that `/stream` serves those it should.
 *
 * @returns the number of objects
 */
export async function checkObjects(results: unknown, media: ObjectStore, service: Service): Promise<number> {
  const keys = [...new Set(objectKeysIn(results))];
  for (const key of keys) {
    const info = await media.head(key, service.signal);
    if (info === null || info.sizeBytes === 0)
      throw new Error(`the object ${key} is missing from the media bucket or empty`);
    const root = `${videoRoot(service.hash)}/`;
    if (!key.startsWith(root) || streamContentType(key) === null) continue;
    const bytes = await fetchBytes(
      `${service.baseUrl}/stream/${service.hash}/${key.slice(root.length)}`,
      service.signal,
    );
    if (bytes.length !== info.sizeBytes)
      throw new Error(`/stream served ${bytes.length} bytes of ${key} instead of ${info.sizeBytes}`);
  }
  return keys.length;
}

/** Every string in `value` that has the shape of an object key of the media bucket. */
function objectKeysIn(value: unknown): string[] {
  if (typeof value === 'string') return /^(?:videos|images)\/[0-9a-f]{2}\//.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(objectKeysIn);
}

/** Fetches an encrypted stream, decrypts it and decodes all of it. @throws Error at the first fault */
export async function checkEncryptedStream(stream: StreamToCheck): Promise<CheckedRendition[]> {
  const { encryption } = stream.results;
  if (encryption === undefined) throw new Error('the results have no `encryption`');
  const key = await fetchKey(encryption.key_endpoint, stream);
  const masterUrl = `${stream.baseUrl}/stream/${stream.hash}/master.m3u8`;
  const renditions = readMaster((await fetchBytes(masterUrl, stream.signal)).toString());
  const [videos, audios] = (['video', 'audio'] as const).map((kind) => renditions.filter((line) => line.kind === kind));
  const { video_tracks, audio_tracks } = stream.results;
  if (videos?.length !== video_tracks.length || audios?.length !== audio_tracks.length)
    throw new Error('the renditions of the master playlist differ from those in the results');
  await mkdir(stream.workDir, { recursive: true });
  const checked: CheckedRendition[] = [];
  for (const [index, line] of renditions.entries())
    checked.push(await checkRendition(line, { ...stream, key, kid: encryption.kid, masterUrl, index }));
  return checked;
}

type RenditionToCheck = StreamToCheck & {
  readonly key: Buffer;
  readonly kid: string;
  readonly masterUrl: string;
  readonly index: number;
};

async function checkRendition({ kind, uri }: RenditionLine, stream: RenditionToCheck): Promise<CheckedRendition> {
  const url = new URL(uri, stream.masterUrl).href;
  const playlist = readMedia((await fetchBytes(url, stream.signal)).toString());
  const keyPath = playlist.key === null ? null : new URL(playlist.key.uri).pathname;
  if (playlist.key?.method !== 'SAMPLE-AES' || keyPath !== `/api/key/${stream.hash}`)
    throw new Error(`${url} has no SAMPLE-AES key line with the key endpoint`);
  const encrypted = join(stream.workDir, `${stream.index}-encrypted.mp4`);
  const file = join(stream.workDir, `${stream.index}-${kind}.mp4`);
  await fetchInto(encrypted, [playlist.init, ...playlist.segments.map((segment) => segment.uri)], url, stream);
  const keyHex = stream.key.toString('hex');
  await runTool(
    {
      program: stream.tools.packager,
      args: [
        `in=${encrypted},stream=${kind},out=${file}`,
        '--enable_raw_key_decryption',
        '--keys',
        `label=:key_id=${stream.kid}:key=${keyHex}`,
        '--quiet',
      ],
      secrets: [keyHex],
    },
    `${url} does not decrypt`,
    stream.signal,
  );
  const durationSec = await decodedDuration(file, url, stream);
  const listedSec = playlist.segments.reduce((sum, segment) => sum + segment.durationSec, 0);
  for (const expected of [listedSec, stream.results.source.duration_sec])
    if (Math.abs(durationSec - expected) > Math.max(0.5, expected * 0.02))
      throw new Error(`${url} decodes to ${durationSec.toFixed(2)} s instead of ${expected.toFixed(2)} s`);
  return { kind, url, file, durationSec };
}

/** Fetches the content key, after checking that it is refused without the token. */
async function fetchKey(endpoint: string, { token, signal }: StreamToCheck): Promise<Buffer> {
  const refused = await fetch(endpoint, { signal });
  if (refused.status !== 401)
    throw new Error(`the key endpoint answered ${refused.status} instead of 401 to a request without a token`);
  const response = await fetch(endpoint, { headers: { authorization: `Bearer ${token}` }, signal });
  const key = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200)
    throw new Error(`the key endpoint answered ${response.status} instead of 200: ${key.toString()}`);
  if (key.length !== 16) throw new Error(`the content key has ${key.length} bytes instead of 16`);
  return key;
}

async function fetchInto(
  file: string,
  uris: readonly string[],
  playlistUrl: string,
  stream: RenditionToCheck,
): Promise<void> {
  const output = await open(file, 'w');
  try {
    for (const [index, uri] of uris.entries()) {
      const bytes = await fetchBytes(new URL(uri, playlistUrl).href, stream.signal);
      // The init segment holds the scheme and the key id of the whole rendition.
      const isProtected = bytes.includes('cbcs') && bytes.includes(Buffer.from(stream.kid, 'hex'));
      if (index === 0 && !isProtected)
        throw new Error(`${uri} of ${playlistUrl} is not protected by cbcs with the key's id`);
      await output.write(bytes);
    }
  } finally {
    await output.close();
  }
}

/** Decodes a whole file and returns its duration in seconds. @throws Error at the first decoder error */
async function decodedDuration(file: string, url: string, stream: RenditionToCheck): Promise<number> {
  const decode = ['-nostdin', '-v', 'error', '-xerror', '-err_detect', 'explode', '-i', file, '-progress', 'pipe:1'];
  const command = { program: stream.tools.ffmpeg, args: [...decode, '-f', 'null', '-'] };
  const { stdout, stderrTail } = await runTool(command, `${url} does not decode`, stream.signal);
  if (stderrTail.trim() !== '') throw new Error(`${url} decodes with errors: ${stderrTail.trim()}`);
  return Number([...stdout.matchAll(/^out_time_us=(\d+)/gm)].at(-1)?.[1] ?? Number.NaN) / 1e6;
}

async function runTool(command: Command, failure: string, signal: AbortSignal) {
  const outcome = await runCommand(command, { signal, timeoutMs: 300_000 });
  if (outcome.exitCode !== 0) throw new Error(`${failure}: ${outcome.stderrTail.trim().split('\n').at(-1)}`);
  return outcome;
}

async function fetchBytes(url: string, signal: AbortSignal): Promise<Buffer> {
  const response = await fetch(url, { signal, redirect: 'error' });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status} instead of 200`);
  return Buffer.from(await response.arrayBuffer());
}
