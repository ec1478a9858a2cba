import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { segmentTimes } from '#domain/media/dash-manifest.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import { makeChunked } from './chunked.ts';
import { decodingErrors, packetTimes, runTool } from './media.ts';
import { inOnePiece, type RunnerRig, wholeTrack } from './runner.ts';

// A chunked encode against the same source in one piece: frames, times and segments.

interface Stream {
  readonly rig: RunnerRig<'video:transcode'>;
  readonly results: JobResults<'video:transcode'>;
}

/** Frames that differ everywhere from their neighbours: a bar for each bit of the frame's number. */
const bars = Array.from(
  { length: 8 },
  (_, bit) => String.raw`drawbox=x=${bit * 40}:y=0:w=40:h=90:c=white:t=fill:enable=mod(floor(n/${2 ** bit})\,2)`,
).join(',');

/** The input of ffmpeg for 20 s of them. */
export const barsPattern = (rate: string) => `-f lavfi -i testsrc2=s=320x180:r=${rate}:d=20,${bars}`;

/** With B-frames, which the fastest preset has not. */
const env = { X264_PRESET: 'veryfast' };

/** A source in chunks and in one piece. */
export async function bothWays(
  source: string,
  { profile = null, ...chunks }: { profile?: NamedProfile | null; chunkSec?: number } = {},
) {
  const { rig, results, split } = await makeChunked(source, { env, profile, ...chunks });
  const whole = await inOnePiece(source, { type: 'video:transcode', profile, env });
  return { chunked: { rig, results, rev: split.rev }, whole };
}

/** The largest rung in one file. */
async function largest({ rig, results }: Stream): Promise<string> {
  const top = results.video_tracks.toSorted((a, b) => b.height - a.height)[0];
  if (top === undefined) throw new Error('no video track');
  return wholeTrack(rig, top);
}

/** The PSNR of each frame against the reference's frame of the same number. */
export async function likeness(path: string, reference: string): Promise<number[]> {
  const byNumber = 'settb=1/1000,setpts=N*40';
  const graph = `[0:v]${byNumber}[a];[1:v]${byNumber}[b];[a][b]psnr=stats_file=-`;
  const inputs = ['-v', 'error', '-nostdin', '-i', path, '-i', reference];
  const stats = await runTool('ffmpeg', [...inputs, '-lavfi', graph, '-f', 'null', '-']);
  return [...stats.matchAll(/psnr_avg:(inf|[\d.]+)/g)].map(([, db]) => (db === 'inf' ? 100 : Number(db)));
}

/** The segments of every track, as playlists describe them. */
async function segmentsOf({ rig, results }: Stream): Promise<string[]> {
  const tracks = [...results.video_tracks, ...results.audio_tracks];
  return Promise.all(tracks.map(async ({ id, playlist }) => `${id}\n${await readFile(rig.at(playlist), 'utf8')}`));
}

/** Encodes a source in chunks; frames, times and segments must equal the stream in one piece. */
export async function expectSameStream(source: string, profile: NamedProfile | null = null): Promise<void> {
  const { chunked, whole } = await bothWays(source, { profile });
  expect(chunked.results.warnings).toEqual(whole.results.warnings);
  expect(chunked.results.source).toEqual(whole.results.source);
  const [path, reference] = [await largest(chunked), await largest(whole)];
  expect(await decodingErrors(path)).toBe('');
  const times = await packetTimes(reference);
  expect(await packetTimes(path)).toEqual(times);
  const psnr = await likeness(path, reference);
  expect(psnr).toHaveLength(times.length);
  expect(Math.min(...psnr)).toBeGreaterThan(30);
  expect(await segmentsOf(chunked)).toEqual(await segmentsOf(whole));
  const folders = [
    ...whole.results.video_tracks.map(({ id }) => `video/${id}`),
    ...whole.results.audio_tracks.map(({ id }) => `audio/${id}`),
  ];
  for (const folder of folders) {
    const [made, expected] = [await timesIn(chunked, folder), await timesIn(whole, folder)];
    expect(made).toEqual(expected);
  }
}

async function timesIn({ rig, rev }: Stream & { readonly rev: string }, folder: string) {
  return segmentTimes(await readFile(rig.at(videoKey('clip-1', rev, 'manifest.mpd')), 'utf8'), folder);
}
