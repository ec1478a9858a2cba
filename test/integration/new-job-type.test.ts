import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { until } from '../../testing/controller-rig.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { checkout, endPrograms, secrets, startProgram } from '../../testing/programs.ts';

// A job type is one row, one file with its options and results, and one folder with its handler. This test adds a sixth
// type to a copy of the tree, in these places alone, and runs a job of it.

const run = promisify(execFile);

const optionsFile = `import { z } from 'zod';
import { jobType } from './job-type.ts';

/** Measures the loudness (EBU R128) of one audio track; \`track\` counts the audio tracks from 0. */
export const audioLoudness = jobType({
  options: z.strictObject({ track: z.int().min(0).max(63).default(0) }),
  results: z.object({ integrated_lufs: z.number(), range_lu: z.number() }),
});
`;

const commandFile = `import type { Command } from '#platform/commands/command.ts';
import { inputArgs } from '../../tools/ffmpeg.ts';

/** Decodes one audio stream and prints its loudness on standard error. */
export function loudnessCommand(ffmpeg: string, source: string, streamIndex: number): Command {
  const output = ['-map', \`0:\${streamIndex}\`, '-af', 'ebur128=framelog=verbose', '-f', 'null', '-'];
  return { program: ffmpeg, args: ['-nostdin', '-hide_banner', '-nostats', ...inputArgs(source), ...output] };
}
`;

const handlerFile = `import { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { probeSource } from '../../source/probe.ts';
import { runTool } from '../../tools/run-tool.ts';
import { jobHandler } from '../job-handler.ts';
import { loudnessCommand } from './command.ts';

const measured = z.object({ integrated: z.number(), range: z.number() });

/** \`audio:loudness\`: numbers alone, no file. */
export const handler = jobHandler<'audio:loudness', z.infer<typeof measured>>({
  made: measured,
  async process(context) {
    const source = await probeSource(context);
    const track = source.audio[context.task.options.track];
    if (track === undefined) throw new KnownProblem('unsupported_media', 'The source has no such audio track.');
    context.reporter.phase('encoding');
    const lines: string[] = [];
    const failure = { code: 'corrupt_input', message: 'The audio cannot be decoded.' } as const;
    const command = loudnessCommand(context.program('ffmpeg'), source.path, track.streamIndex);
    await runTool(command, { timeoutMs: 60_000, failure, onStderrLine: (line) => lines.push(line) }, context);
    const numberAfter = (label: string) =>
      Number(lines.map((line) => new RegExp(\`^\\\\s*\${label}:\\\\s+(-?[\\\\d.]+)\`).exec(line)?.[1]).findLast(Boolean));
    return { integrated: numberAfter('I'), range: numberAfter('LRA') };
  },
  async publish(_context, { integrated, range }) {
    return { results: { integrated_lufs: integrated, range_lu: range }, error: null, files: [] };
  },
});
`;

describe.skipIf(!inject('postgres'))('a sixth job type', () => {
  let folder: string;
  let tree: string;
  let database: TestDatabase;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-job-type-'));
    tree = join(folder, 'tree');
    await copyTree(tree);
    await addType(tree);
    await Promise.all(['source', 'media', 'work'].map((name) => mkdir(join(folder, name))));
    database = await migratedDatabase();
  });
  afterEach(endPrograms);
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it('compiles with a row, a file of options and results, and a handler', async () => {
    const tsc = run(join(checkout, 'node_modules/.bin/tsc'), ['--noEmit'], { cwd: tree });
    await expect(tsc).resolves.toMatchObject({ stdout: '' });
  });

  it('runs a job on a source without pictures and gives its results', async () => {
    await makeTone(join(folder, 'source/tone.m4a'));
    const program = await startProgram({
      folder: tree,
      env: {
        ...secrets,
        DATABASE_URL: database.url,
        REDIS_URL: 'embedded:',
        SOURCE_BUCKET: `file:${join(folder, 'source')}`,
        MEDIA_BUCKET: `file:${join(folder, 'media')}`,
        WORK_DIR: join(folder, 'work'),
        EXECUTOR: 'process',
      },
    });
    const headers = { 'X-API-Key': secrets.API_KEY, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ type: 'audio:loudness', hash: 'tone', source: 'tone.m4a' });
    const submitted = await fetch(`${program.url}/api/jobs`, { method: 'POST', headers, body });
    expect(submitted.status).toBe(202);
    const { job_id: id } = (await submitted.json()) as { job_id: string };
    const job = await until(
      async () => (await (await fetch(`${program.url}/api/jobs/${id}`, { headers })).json()) as Record<string, unknown>,
      ({ status }) => status === 'completed' || status === 'failed',
    );
    expect(job).toMatchObject({ type: 'audio:loudness', status: 'completed', progress: 100, error: null });
    // A sine of amplitude 0.1 at 1 kHz on two channels: -20 dBFS, and the filter's own weighting at that frequency.
    const { integrated_lufs: loudness } = job['results'] as { integrated_lufs: number };
    expect(loudness).toBeGreaterThan(-21.5);
    expect(loudness).toBeLessThan(-18.5);
  });

  it('is refused with an unknown option, named by its pointer', async () => {
    const { parseSubmission } = (await import(join(tree, 'domain/jobs/submission.ts'))) as {
      parseSubmission: (body: unknown) => { faults?: readonly { pointer: string }[] };
    };
    const { faults } = parseSubmission({ type: 'audio:loudness', hash: 'a', source: 'b', options: { volume: 1 } });
    expect(faults?.map(({ pointer }) => pointer)).toEqual(['/options/volume']);
  });
});

/** What the service is made of, without tests. */
async function copyTree(to: string): Promise<void> {
  const parts = ['domain', 'platform', 'jobs', 'api', 'delivery', 'controller', 'runner', 'web'];
  const files = ['main.ts', 'http-service.ts', 'package.json', 'tsconfig.json'];
  await mkdir(to);
  for (const name of [...parts, ...files]) {
    await cp(join(checkout, name), join(to, name), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts'),
    });
  }
  await symlink(join(checkout, 'node_modules'), join(to, 'node_modules'));
}

async function addType(to: string): Promise<void> {
  await writeFile(join(to, 'domain/job-types/audio-loudness.ts'), optionsFile);
  const handler = join(to, 'runner/handlers/audio-loudness');
  await mkdir(handler);
  await writeFile(join(handler, 'command.ts'), commandFile);
  await writeFile(join(handler, 'handler.ts'), handlerFile);
  const table = join(to, 'domain/job-types/index.ts');
  const text = await readFile(table, 'utf8');
  const withRow = text.replace(
    "  'video:full': videoFull,\n",
    "  'video:full': videoFull,\n  'audio:loudness': audioLoudness,\n",
  );
  expect(withRow).not.toBe(text);
  await writeFile(table, `import { audioLoudness } from './audio-loudness.ts';\n${withRow}`);
}

async function makeTone(path: string): Promise<void> {
  const tone = 'aevalsrc=0.1*sin(2*PI*1000*t)|0.1*sin(2*PI*1000*t):sample_rate=48000:duration=5';
  await run(findProgram('ffmpeg', process.env), ['-v', 'error', '-f', 'lavfi', '-i', tone, '-c:a', 'aac', '-y', path]);
}
