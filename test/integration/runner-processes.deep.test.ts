import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { workspaceIn } from '../../runner/context/step-context.ts';
import { runTool } from '../../runner/tools/run-tool.ts';
import { sample } from '../../testing/media.ts';
import {
  outcomeOf,
  removeRigs,
  run,
  type RunnerOutcome,
  type RunnerRig,
  runnerRig,
  startRunner,
} from '../../testing/runner.ts';

// How the process of a runner ends: stopped, without its parent, with a tool that is killed, fails or hangs.

let long: string;
beforeAll(async () => {
  long = await sample(
    'a-while.mp4',
    '-f lavfi -i testsrc2=s=640x360:r=25:d=15 -c:v libx264 -preset ultrafast -pix_fmt yuv420p',
  );
});
afterAll(removeRigs);

/** The processes that work in a rig's workspace: the tools that a runner has started. */
async function toolsOf(rig: RunnerRig): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, index) => folders[index] === rig.workspace);
}

interface Encoding {
  readonly rig: RunnerRig;
  readonly child: ChildProcess;
  readonly outcome: Promise<RunnerOutcome>;
}

/** A runner in the middle of a long encode. */
async function encoding(env: Record<string, string> = {}): Promise<Encoding> {
  const rig = await runnerRig('video:transcode', long);
  expect(await run(rig, ['fetch'])).toMatchObject({ exitCode: 0 });
  const child = startRunner(rig, 'process', { X264_PRESET: 'veryslow', ...env });
  const outcome = outcomeOf(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (text: string) => {
      if (text.includes('"progress","phase":"encoding"')) resolve();
    });
    child.once('close', () => reject(new Error('the runner ended before it encoded')));
  });
  expect(await toolsOf(rig)).not.toEqual([]);
  return { rig, child, outcome };
}

// Processes are found through /proc.
describe.skipIf(process.platform !== 'linux')('a runner at work', () => {
  it('C37.2: a stopped runner ends with 143, without its tools and without an error, and says what it took', async () => {
    const { rig, child, outcome } = await encoding();
    child.kill('SIGTERM');
    const { exitCode, reports } = await outcome;
    expect(exitCode).toBe(143);
    const [result, ...more] = reports.flatMap((report) => (report.type === 'result' ? [report] : []));
    expect([result?.error, more]).toEqual([null, []]);
    expect(result?.steps).toMatchObject([{ step: 'process', processor_ms: expect.any(Number) as number }]);
    expect(await toolsOf(rig)).toEqual([]);
  });

  it('a runner ends with its parent when the parent holds its standard input', async () => {
    const { rig, child, outcome } = await encoding({ RUNNER_PARENT: 'stdin' });
    child.stdin?.end();
    expect((await outcome).exitCode).toBe(143);
    expect(await toolsOf(rig)).toEqual([]);
  });

  it('a runner with an encoder that the kernel kills fails as resource_exhausted', async () => {
    const { rig, outcome } = await encoding();
    for (const pid of await toolsOf(rig)) process.kill(pid, 'SIGKILL');
    const { exitCode, error } = await outcome;
    expect([exitCode, error?.code, error?.retryable]).toEqual([30, 'resource_exhausted', true]);
  });
});

describe('the workspace after the step that processes', () => {
  it('the step removes the source at its end, and a repetition of the step leaves its work as it is', async () => {
    const rig = await runnerRig('video:cover', long);
    expect(await run(rig, ['fetch', 'process'])).toMatchObject({ exitCode: 0 });
    expect(await readdir(rig.workspace)).toEqual(['made']);
    expect(await run(rig, ['process', 'publish'])).toMatchObject({ exitCode: 0 });
    expect(await rig.manifest()).toMatchObject({ status: 'completed' });
  });
});

describe('a runner that cannot begin', () => {
  it.each([
    ['an unknown step', 'elsewhere', {}],
    ['no task', 'process', { RUNNER_TASK: '' }],
    ['an invalid content key', 'publish', { CONTENT_KEY: 'secret-that-is-no-key' }],
  ])('a runner with %s fails as internal and does not print its input', async (_, step, env) => {
    const rig = await runnerRig('video:transcode', { content: 'x' });
    const { exitCode, error, stdout, stderr } = await outcomeOf(startRunner(rig, step as 'process', env));
    expect([exitCode, error?.code]).toEqual([10, 'internal']);
    expect(`${stdout}${stderr}`).not.toContain('secret-that-is-no-key');
  });
});

/** An ffmpeg that does not list libx264. */
async function ffmpegWithoutX264(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-ffmpeg-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const program = join(dir, 'ffmpeg');
  const real = findProgram('ffmpeg', process.env);
  await writeFile(program, `#!/bin/sh\nexec '${real}' "$@" | grep -v libx264\n`, { mode: 0o755 });
  return program;
}

/** The exit code of `check`, and its report. */
async function check(env: Record<string, string>): Promise<readonly [number | null, string]> {
  const { exitCode, stderrTail } = await runCommand(
    { program: process.execPath, args: ['runner/main.ts', 'check'] },
    { timeoutMs: 600_000, env: { PATH: process.env['PATH'] ?? '', ...env } },
  );
  return [exitCode, stderrTail.trim()];
}

describe('the tools of a runner', () => {
  it('`check` names a missing tool and fails', async () => {
    expect(await check({})).toEqual([0, '']);
    expect(await check({ FFMPEG_PATH: await ffmpegWithoutX264() })).toEqual([1, 'ffmpeg has no encoder libx264']);
    expect(await check({ PACKAGER_PATH: '/bin/false' })).toEqual([1, expect.stringContaining('packager does not run')]);
  });

  it('a video job fails before any work when ffmpeg lacks an encoder', async () => {
    const rig = await runnerRig('video:transcode', long);
    expect(await run(rig, ['fetch'])).toMatchObject({ exitCode: 0 });
    const child = startRunner(rig, 'process', { FFMPEG_PATH: await ffmpegWithoutX264() });
    const { exitCode, error } = await outcomeOf(child);
    expect([exitCode, error]).toEqual([
      10,
      expect.objectContaining({
        code: 'internal',
        message: 'This runner cannot work: ffmpeg has no encoder libx264.',
      }),
    ]);
  });
});

describe('a tool', () => {
  const failure = { code: 'packager_error', message: 'It failed.' } as const;
  const context = {
    signal: new AbortController().signal,
    log: createLogger({ level: 'silent', name: 'test' }),
    workspace: workspaceIn(tmpdir()),
  };
  const shell = (script: string, more: object = {}) =>
    runTool({ program: '/bin/sh', args: ['-c', script] }, { timeoutMs: 600_000, failure, ...more }, context);

  it.each([
    ['a tool that fails has the code of its caller', 'echo it broke >&2; exit 2', {}, 'packager_error'],
    [
      'a tool that fails with a special exit code has the code for it',
      'exit 69',
      { failureOfExit: { 69: { code: 'corrupt_input', message: '' } } },
      'corrupt_input',
    ],
    ['a killed tool ran out of memory', 'kill -9 $$', {}, 'resource_exhausted'],
    ['a tool that takes too long exceeds its deadline', 'sleep 30', { timeoutMs: 200 }, 'deadline_exceeded'],
    [
      'a tool without output for too long exceeds its deadline',
      'echo begin; sleep 30',
      { silenceMsMax: 300 },
      'deadline_exceeded',
    ],
  ])('%s', async (_, script, more, code) => {
    await expect(shell(script, more)).rejects.toMatchObject({ code });
  });

  it('a tool with output keeps running past the limit of silence', async () => {
    const talking = 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done';
    expect(await shell(talking, { silenceMsMax: 3000 })).toMatchObject({ exitCode: 0 });
  });

  it('C13.7: the log tail of a failed tool has no keys and no addresses', async () => {
    const script = 'echo "cannot open https://user:pw@host/x?sig=abc key=ffeeddccbbaa99887766554433221100" >&2; exit 1';
    const error: unknown = await shell(script).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      details: { logTail: expect.stringContaining('cannot open https://***@host/x?***') },
    });
    expect(JSON.stringify(error)).not.toMatch(/ffeedd|user:pw/);
  });
});
