import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { JobResults } from '#domain/job-types/index.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import { filmKey } from '#domain/media/object-keys.ts';
import { type Film, parseFilm } from '#domain/runner/film.ts';
import { type FilmPart, parseTask } from '#domain/runner/task.ts';
import { run, type RunnerRig, runnerRig } from './runner.ts';

// A film through the real runner, part by part, as an executor does it.

/** The seconds of a chunk: one segment, where a test does not say otherwise. */
const chunkSecDefault = 6;

interface PartOptions {
  /** The film's revision; absent for `split`. */
  readonly rev?: string;
  readonly env?: Record<string, string>;
  /** Distinguishes the workspaces of two runs of one part. */
  readonly name?: string;
}

/** Runs one part, in a workspace of its own. @throws Error with the runner's log when it fails */
export async function runPart(rig: RunnerRig, part: FilmPart, { rev, env = {}, name = '' }: PartOptions = {}) {
  const task = { ...parseTask(rig.task), part };
  const folder = `workspace-${part.kind === 'encode' ? part.chunk : part.kind}${name}`;
  const ofPart = {
    ...rig,
    task: JSON.stringify({ ...task, rev: rev ?? task.rev }),
    workspace: join(dirname(rig.workspace), folder),
  };
  const outcome = await run(ofPart, part.kind === 'finish' ? ['publish'] : ['all'], env);
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
  return outcome;
}

/** Splits a source. @returns its film; null when it stays one piece, and then its result is there */
export async function split(
  rig: RunnerRig,
  env: Record<string, string> = {},
  chunkSec = chunkSecDefault,
): Promise<Film | null> {
  await runPart(rig, { kind: 'split', chunk_sec: chunkSec }, { env, name: parseTask(rig.task).job_id });
  const json = await readFile(rig.at(filmKey(parseTask(rig.task).job_id)), 'utf8').catch(() => null);
  return json === null ? null : parseFilm(json);
}

/** Makes a film of a source, the chunks in the order that is given, by default from the last to the first. */
export async function makeFilm(
  source: string,
  {
    env = {},
    chunkSec,
    profile = null,
  }: { env?: Record<string, string>; chunkSec?: number; profile?: NamedProfile | null } = {},
): Promise<{ rig: RunnerRig<'video:transcode'>; film: Film; results: JobResults<'video:transcode'> }> {
  const rig = await runnerRig('video:transcode', source, {}, profile);
  const film = await split(rig, env, chunkSec);
  if (film === null) throw new Error('the source stayed one piece');
  for (const chunk of [...film.chunk_frames.keys()].toReversed())
    await runPart(rig, { kind: 'encode', chunk }, { rev: film.rev, env });
  await runPart(rig, { kind: 'finish' }, { rev: film.rev, env });
  const manifest = await rig.manifest();
  if (manifest === null) throw new Error('the film has no result manifest');
  return { rig, film, results: manifest.results };
}
