import { readFile } from 'node:fs/promises';
import type { JobResults } from '#domain/job-types/index.ts';
import { decodingErrors, probeStreams, type ProbedStream } from './media.ts';
import { run, type RunnerRig, runnerRig, runToResult, wholeTrack } from './runner.ts';

type Source = string | { readonly content: string | Buffer };

interface Transcoded {
  readonly rig: RunnerRig<'video:transcode'>;
  readonly results: JobResults<'video:transcode'>;
  /** The largest rung in one file. */
  readonly path: string;
  readonly stream: ProbedStream;
  readonly master: string;
  readonly warnings: readonly string[];
}

/** Transcodes a source with the real runner; the largest rung must decode without an error. */
export async function transcode(source: Source): Promise<Transcoded> {
  const rig = await runnerRig('video:transcode', source);
  const { results, rev } = await runToResult(rig);
  const top = results.video_tracks.toSorted((a, b) => b.height - a.height)[0];
  if (top === undefined) throw new Error('no video track');
  const path = await wholeTrack(rig, top);
  const errors = await decodingErrors(path);
  if (errors !== '') throw new Error(errors);
  const [stream] = await probeStreams(path);
  if (stream === undefined) throw new Error('no stream');
  const master = await readFile(rig.at(results.streaming.master_playlist.replace('master', `${rev}/master`)), 'utf8');
  return { rig, results, path, stream, master, warnings: results.warnings.map(({ code }) => code) };
}

/** Transcodes a source that must be refused. @returns exit code, error code, whether it is retryable */
export async function refusal(
  source: Source,
): Promise<[exitCode: number | null, code: string | undefined, isRetryable: boolean | undefined]> {
  const rig = await runnerRig('video:transcode', source);
  const { exitCode, error } = await run(rig, ['all']);
  const keys = await rig.keys();
  if (keys.length > 0) throw new Error(`a refused source left ${keys.join(', ')}`);
  return [exitCode, error?.code, error?.retryable];
}
