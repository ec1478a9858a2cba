import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { JobResults } from '#domain/job-types/index.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import { splitKey } from '#domain/media/object-keys.ts';
import { parseSplit, type Split } from '#domain/work/split.ts';
import { parseTask } from '#domain/work/task.ts';
import { type Unit, unitKindRow } from '#domain/work/unit.ts';
import { run, type RunnerRig, runnerRig } from './runner.ts';

// A chunked encode through the real runner, unit by unit, as an executor does it.

/** The seconds of a chunk: one segment, where a test does not say otherwise. */
const chunkSecDefault = 6;

interface UnitOptions {
  /** The shared revision; absent for `split`. */
  readonly rev?: string;
  readonly env?: Record<string, string>;
  /** Distinguishes the workspaces of two runs of one unit. */
  readonly name?: string;
}

/** Runs one unit, in a workspace of its own. @throws Error with the runner's log when it fails */
export async function runUnit(rig: RunnerRig, unit: Unit, { rev, env = {}, name = '' }: UnitOptions = {}) {
  const task = { ...parseTask(rig.task), unit };
  const folder = `workspace-${'chunk' in unit ? unit.chunk : unit.kind}${name}`;
  const ofUnit = {
    ...rig,
    task: JSON.stringify({ ...task, rev: rev ?? task.rev }),
    workspace: join(dirname(rig.workspace), folder),
  };
  const isPublish = unitKindRow(unit.kind).steps.every((step) => step === 'publish');
  const outcome = await run(ofUnit, isPublish ? ['publish'] : ['all'], env);
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
  return outcome;
}

/** Splits a source. @returns the split; null when it stays one piece, and then its result is there */
export async function split(
  rig: RunnerRig,
  env: Record<string, string> = {},
  chunkSec = chunkSecDefault,
): Promise<Split | null> {
  await runUnit(rig, { kind: 'split', chunk_sec: chunkSec }, { env, name: parseTask(rig.task).job_id });
  const json = await readFile(rig.at(splitKey(parseTask(rig.task).job_id)), 'utf8').catch(() => null);
  return json === null ? null : parseSplit(json);
}

/** Encodes a source in chunks, from the last to the first. */
export async function makeChunked(
  source: string,
  {
    env = {},
    chunkSec,
    profile = null,
  }: { env?: Record<string, string>; chunkSec?: number; profile?: NamedProfile | null } = {},
): Promise<{ rig: RunnerRig<'video:transcode'>; split: Split; results: JobResults<'video:transcode'> }> {
  const rig = await runnerRig('video:transcode', source, {}, profile);
  const made = await split(rig, env, chunkSec);
  if (made === null) throw new Error('the source stayed one piece');
  for (const chunk of [...made.chunk_frames.keys()].toReversed())
    await runUnit(rig, { kind: 'chunk', chunk }, { rev: made.rev, env });
  await runUnit(rig, { kind: 'finish' }, { rev: made.rev, env });
  const manifest = await rig.manifest();
  if (manifest === null) throw new Error('the job has no result manifest');
  return { rig, split: made, results: manifest.results };
}
