import { createInterface } from 'node:readline';
import { z } from 'zod';
import { exitCodes } from '#domain/exit-codes.ts';
import type { TaskResult } from '#domain/work/batch-tasks.ts';
import { parseServedTask, type ServedTask } from '#domain/work/warm-runner.ts';
import { runnerVariables, type Step, steps } from '#domain/work/steps.ts';
import { parseTask } from '#domain/work/task.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { ProcessorMeter, processorTime } from '#platform/commands/processor-time.ts';
import { BriefTracing } from '#platform/telemetry/brief-tracing.ts';
import { createLogger, logLevels } from '#platform/telemetry/logger.ts';
import { workspaceIn } from './context/step-context.ts';
import { Stores } from './context/stores.ts';
import { ReportPoster, writeTerminationMessage } from './reports/report-outlets.ts';
import { createReporter } from './reports/reporter.ts';
import { type RunnerProcess, runTask, type TaskToRun } from './steps/run-task.ts';

/*
 * The runner: `node runner/main.ts fetch|process|publish|all` runs steps of one task, `serve` all steps of many tasks
 * (domain/work/warm-runner.ts), `batch` the same with tasks from the controller (domain/work/batch-tasks.ts), and
 * `check` checks its tools. Its environment is in domain/work/steps.ts; stdout has reports only, stderr the log. Exit
 * codes are in domain/exit-codes.ts.
 *
 * SIGTERM stops it and every tool that it runs. With RUNNER_PARENT=stdin it also stops when its standard input closes,
 * so that it ends with its parent.
 */

const env = process.env;
const mode = process.argv[2];

/** The reason of an abort: the step was stopped from outside, so the attempt does not count. */
class Stopped extends Error {
  override readonly name = 'Stopped';
}

const stopping = new AbortController();

/** The parent is a worker on the same machine, and not a kubelet. */
const hasParent = env['RUNNER_PARENT'] === 'stdin';

function stop(reason: string): void {
  stopping.abort(new Stopped(reason));
}

function taskToRun(): TaskToRun {
  const toRun: readonly Step[] = mode === 'all' ? steps : steps.filter((step) => step === mode);
  if (toRun.length === 0) throw new Error(`usage: runner/main.ts ${steps.join('|')}|all|serve|batch|check`);
  const root = z.string().min(1).parse(env[runnerVariables.workspace]);
  return {
    steps: toRun,
    task: parseTask(env[runnerVariables.task] ?? '', env[runnerVariables.completionIndex]),
    workspace: workspaceIn(root, env[runnerVariables.output]),
  };
}

/** The tasks that the parent sends, a line each. */
async function* tasksOfParent(): AsyncGenerator<ServedTask> {
  for await (const line of createInterface({ input: process.stdin, signal: stopping.signal }))
    yield parseServedTask(line);
}

async function main(): Promise<number> {
  const level = z.enum(logLevels).catch('info').parse(env['LOG_LEVEL']);
  const poster = openPoster();
  const tracing = openTracing();
  const terminationLog = env[runnerVariables.terminationLog];
  let lastResult: TaskResult = { error: null };
  const reporter = createReporter((report) => {
    if (report.type === 'result') lastResult = report;
    process.stdout.write(`${JSON.stringify(report)}\n`);
    poster?.post(report);
    if (terminationLog !== undefined) writeTerminationMessage(terminationLog, report);
  });
  const stores = new Stores(env);
  const log = createLogger({ level, name: 'runner' });
  const meter = new ProcessorMeter();
  const isReadByParent = hasParent;
  const runner: RunnerProcess = { env, log, reporter, stores, tracing, meter, isReadByParent, signal: stopping.signal };
  try {
    if (mode === 'batch') return await runBatch(runner, () => lastResult);
    return mode === 'serve' ? await serve(runner) : await runTask(taskToRun, runner);
  } finally {
    await Promise.all([poster?.settled(), tracing?.send(), stores.close().catch(() => undefined)]);
    log.info({ mode, cpu_ms: cpuMs() }, 'runner ended');
  }
}

/** The processor time of this process and of every tool that it ran; undefined where the system has no /proc. */
function cpuMs(): number | undefined {
  const time = processorTime('self');
  return time === null ? undefined : time.ownMs + time.endedMs;
}

async function serve(runner: RunnerProcess): Promise<number> {
  const { serveTasks } = await import('./steps/serve-tasks.ts');
  await serveTasks(
    tasksOfParent(),
    (end) => {
      const line = `${JSON.stringify(end)}\n`;
      process.stdout.write(line);
      process.stderr.write(line);
    },
    runner,
  );
  return exitCodes.done;
}

async function runBatch(runner: RunnerProcess, lastResult: () => TaskResult): Promise<number> {
  const { ControllerTasks } = await import('./batch/controller-tasks.ts');
  const { serveTasks } = await import('./steps/serve-tasks.ts');
  const tasks = new ControllerTasks({
    url: z.url().parse(env[runnerVariables.tasksUrl]),
    token: z.string().min(1).parse(env[runnerVariables.tasksToken]),
    root: z.string().min(1).parse(env[runnerVariables.workspace]),
    log: runner.log,
    signal: stopping.signal,
  });
  await serveTasks(tasks.all(), (end) => tasks.ended(end, lastResult()), runner);
  return tasks.finish();
}

function openPoster(): ReportPoster | null {
  const [url, token] = [env[runnerVariables.reportUrl], env[runnerVariables.reportToken]];
  return url === undefined || token === undefined ? null : new ReportPoster({ url, token });
}

function openTracing(): BriefTracing | null {
  const endpoint = env[runnerVariables.otlpEndpoint] ?? '';
  return endpoint === '' ? null : new BriefTracing({ endpoint, serviceName: 'reelwright-runner' });
}

process.once('SIGTERM', () => stop('SIGTERM'));
process.once('SIGINT', () => stop('SIGINT'));
// The parent has exited. Without this handler the failed write would end the runner before it has stopped its tools.
process.stdout.on('error', () => stop('stdout was closed'));
if (hasParent) {
  process.stdin.on('end', () => stop('the parent exited')).on('error', () => stop('the parent exited'));
  // The lines of `serve` are read by it.
  if (mode !== 'serve') process.stdin.resume();
}

async function check(): Promise<number> {
  const { checkTools } = await import('./steps/check.ts');
  const missing = await checkTools((tool) => findProgram(tool, env));
  for (const line of missing) process.stderr.write(`${line}\n`);
  return missing.length === 0 ? 0 : 1;
}

process.exitCode = mode === 'check' ? await check() : await main();
process.stdin.destroy();
