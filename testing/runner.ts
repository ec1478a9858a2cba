import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { type JobResults, type JobType, jobTypes } from '#domain/job-types/index.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import { parseMediaPlaylist } from '#domain/media/media-playlist.ts';
import { mediaPrefix, resultManifestKey, revisionOf } from '#domain/media/object-keys.ts';
import { parseManifest, type ResultManifest } from '#domain/work/manifest.ts';
import { parseReport, type Report } from '#domain/work/report.ts';
import type { Step } from '#domain/work/steps.ts';
import { parseTask } from '#domain/work/task.ts';
import { unitOf } from '#domain/work/unit.ts';
import { checkout, compileCache } from './checkout.ts';
import { madeOnce, type Recipe } from './made-once.ts';

// The real runner as a process of its own, over folders for buckets.

export const contentKey = { kid: '00112233445566778899aabbccddeeff', key: 'ffeeddccbbaa99887766554433221100' };
export const keyEndpoint = 'https://media.example/api/key/clip-1';
/** The variables that only `publish` gets. */
export const keyEnvironment = { CONTENT_KEY: `${contentKey.kid}:${contentKey.key}`, KEY_ENDPOINT: keyEndpoint };

export interface RunnerRig<T extends JobType = JobType> {
  readonly dir: string;
  readonly media: string;
  readonly workspace: string;
  readonly task: string;
  readonly type: T;
  /** The path of an object of the media bucket. */
  readonly at: (key: string) => string;
  readonly manifest: () => Promise<(Omit<ResultManifest, 'results'> & { results: JobResults<T> }) | null>;
  /** Every object of the media bucket, by key. */
  readonly keys: () => Promise<string[]>;
}

export interface RunnerOutcome {
  readonly exitCode: number | null;
  readonly reports: readonly Report[];
  readonly stdout: string;
  readonly stderr: string;
  readonly error: Extract<Report, { type: 'result' }>['error'] | undefined;
}

const rigs = new Set<string>();

/** Folders for one job; the source is copied from a path or written from its content. */
export async function runnerRig<T extends JobType>(
  type: T,
  source: string | { readonly content: string | Buffer },
  options: object = {},
  profile: NamedProfile | null = null,
): Promise<RunnerRig<T>> {
  const dir = await rigFolder();
  for (const folder of ['source', 'media']) await mkdir(join(dir, folder));
  const target = join(dir, 'source', 'clip');
  if (typeof source === 'string') await copyFile(source, target);
  else await writeFile(target, source.content);
  const id = randomUUID();
  const task = JSON.stringify({
    v: 2,
    job_id: id,
    attempt: 1,
    type,
    hash: 'clip-1',
    source: { key: 'clip', etag: null, size: null, bytes_max: 20 * 1024 ** 3 },
    options: jobTypes[type].options.parse(options),
    profile,
    prefix: mediaPrefix('clip-1'),
    rev: revisionOf(id, 1),
    unit: unitOf(jobTypes[type].firstUnit, { chunkSec: 24 * 3600 }),
    trace: null,
  });
  return rigOf({ type, task, dir, media: join(dir, 'media') });
}

/** A folder that `removeRigs` removes. */
async function rigFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-runner-'));
  rigs.add(dir);
  return dir;
}

function rigOf<T extends JobType>(of: Pick<RunnerRig<T>, 'type' | 'task' | 'dir' | 'media'>): RunnerRig<T> {
  const { task, dir, media } = of;
  const manifestPath = join(media, resultManifestKey(parseTask(task).job_id, 1));
  return {
    ...of,
    workspace: join(dir, 'workspace'),
    at: (key) => join(media, key),
    manifest: async () => {
      const json = await readFile(manifestPath, 'utf8').catch(() => null);
      return json === null ? null : (parseManifest(json) as Awaited<ReturnType<RunnerRig<T>['manifest']>>);
    },
    keys: async () => {
      const entries = await readdir(media, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative(media, join(entry.parentPath, entry.name)))
        .toSorted();
    },
  };
}

/** Runs all steps in one process. @returns the result manifest @throws Error with the runner's log without one */
export async function runToResult<T extends JobType>(rig: RunnerRig<T>, env: Record<string, string> = {}) {
  const { stderr } = await run(rig, ['all'], env);
  const manifest = await rig.manifest();
  if (manifest === null) throw new Error(stderr);
  return manifest;
}

interface OnePiece<T extends JobType> {
  readonly type: T;
  readonly options?: object;
  readonly profile?: NamedProfile | null;
  readonly env?: Record<string, string>;
}

/**
 * The stream that the runner makes of a source, to compare with: made once for all tests and runs, and again when the
 * runner or a tool has changed. Nothing may be written into its bucket.
 */
export async function inOnePiece<T extends JobType>(
  source: string,
  { type, options = {}, profile = null, env = {} }: OnePiece<T>,
) {
  const digest = createHash('sha256')
    .update(await readFile(source))
    .digest('hex');
  const recipe: Recipe = {
    name: 'one-piece',
    from: { digest, type, options, profile, env },
    code: ['testing/runner.ts', 'runner/main.ts', 'package-lock.json'],
    tools: ['ffmpeg', 'ffprobe', 'packager'],
  };
  const folder = await madeOnce(recipe, async (unfinished) => {
    const rig = await runnerRig(type, source, options, profile);
    await runToResult(rig, env);
    await cp(rig.media, join(unfinished, 'media'), { recursive: true });
    await writeFile(join(unfinished, 'task.json'), rig.task);
  });
  const task = await readFile(join(folder, 'task.json'), 'utf8');
  const rig = rigOf({ type, task, dir: await rigFolder(), media: join(folder, 'media') });
  const manifest = await rig.manifest();
  if (manifest === null) throw new Error(`${folder} has no result manifest`);
  return { rig, results: manifest.results, rev: manifest.rev };
}

/** Joins the init segment and all segments of a published track into one file. */
export async function wholeTrack(
  rig: RunnerRig,
  { init, playlist }: { init: string; playlist: string },
): Promise<string> {
  const { segments } = parseMediaPlaylist(await readFile(rig.at(playlist), 'utf8'));
  const folder = rig.at(dirname(playlist));
  const parts = [await readFile(rig.at(init))];
  for (const { uri } of segments) parts.push(await readFile(join(folder, uri)));
  const path = join(rig.dir, `${playlist.replaceAll('/', '-')}.mp4`);
  await writeFile(path, Buffer.concat(parts));
  return path;
}

/** Removes the folders of every rig. */
export async function removeRigs(): Promise<void> {
  await Promise.all([...rigs].map((dir) => rm(dir, { recursive: true, force: true })));
  rigs.clear();
}

/** The environment that an executor gives a step. */
function runnerEnvironment(rig: RunnerRig, step: Step | 'all'): Record<string, string> {
  const tools = ['PATH', 'FFMPEG_PATH', 'FFPROBE_PATH', 'PACKAGER_PATH'];
  const inherited = tools.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const isOneOf = (...names: string[]) => names.includes(step);
  return {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    RUNNER_TASK: rig.task,
    RUNNER_WORKSPACE: rig.workspace,
    LOG_LEVEL: 'debug',
    X264_PRESET: 'ultrafast',
    NODE_COMPILE_CACHE: compileCache,
    ...(isOneOf('fetch', 'all') ? { SOURCE_BUCKET: `file:${join(rig.dir, 'source')}` } : {}),
    ...(isOneOf('publish', 'all') ? { MEDIA_BUCKET: `file:${rig.media}` } : {}),
  };
}

/** Starts one step, its streams piped. */
export function startRunner(rig: RunnerRig, step: Step | 'all', env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, ['runner/main.ts', step], {
    cwd: checkout,
    env: { ...runnerEnvironment(rig, step), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** Collects the output of a started step until it ends. */
export async function outcomeOf(child: ChildProcess): Promise<RunnerOutcome> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const reports = stdout.split('\n').flatMap((line) => parseReport(line) ?? []);
  const last = reports.at(-1);
  return { exitCode, reports, stdout, stderr, error: last?.type === 'result' ? last.error : undefined };
}

/** Runs steps, one process each; stops at the first that fails. */
export async function run(
  rig: RunnerRig,
  steps: readonly (Step | 'all')[] = ['fetch', 'process', 'publish'],
  env: Record<string, string> = {},
): Promise<RunnerOutcome> {
  let outcome: RunnerOutcome | undefined;
  for (const step of steps) {
    outcome = await outcomeOf(startRunner(rig, step, env));
    if (outcome.exitCode !== 0) return outcome;
  }
  if (outcome === undefined) throw new Error('no step was run');
  return outcome;
}
