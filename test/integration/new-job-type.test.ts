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
const fixtures = join(checkout, 'test/fixtures/new-job-type');

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

  it('a job of a sixth type runs on a source without pictures and gives its results', async () => {
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

  it('a job of a sixth type with an unknown option is refused, and the option named by its pointer', async () => {
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
  await cp(join(fixtures, 'audio-loudness.ts.txt'), join(to, 'domain/job-types/audio-loudness.ts'));
  const handler = join(to, 'runner/handlers/audio-loudness');
  await mkdir(handler);
  for (const name of ['command.ts', 'handler.ts']) await cp(join(fixtures, `${name}.txt`), join(handler, name));
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
