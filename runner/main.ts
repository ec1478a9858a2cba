import { z } from 'zod';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { toJobError } from '#domain/job-error.ts';
import { encodingProfiles, type EncodingProfile, x264Presets } from '#domain/media/profiles.ts';
import { exitCodeOf, exitCodes } from '#domain/exit-codes.ts';
import { runnerVariables, type Step, steps } from '#domain/runner/steps.ts';
import { parseTask, type Task } from '#domain/runner/task.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { type BriefSpanSettings, BriefTracing } from '#platform/telemetry/brief-tracing.ts';
import { createLogger, logLevels } from '#platform/telemetry/logger.ts';
import { type StepContext, workspaceIn } from './context/step-context.ts';
import type { PublishContext } from './handlers/job-handler.ts';
import { ReportPoster, writeTerminationMessage } from './reports/report-outlets.ts';
import { createReporter } from './reports/reporter.ts';

/*
 * The runner: `node runner/main.ts fetch|process|publish|all`, and `check`, which checks its tools. Its environment is
 * in domain/runner/steps.ts; stdout carries reports only, stderr the log. Exit codes are in domain/exit-codes.ts.
 *
 * SIGTERM stops it and every tool that it runs. With RUNNER_PARENT=stdin it also stops when its standard input closes,
 * so that it ends with its parent.
 */

const env = process.env;

/** The reason of an abort: the step was stopped from outside, so the attempt does not count. */
class Stopped extends Error {
  override readonly name = 'Stopped';
}

const stopping = new AbortController();

function stop(reason: string): void {
  stopping.abort(new Stopped(reason));
}

function profileOf({ profile }: Task): EncodingProfile {
  // For demos and tests on slow machines: a faster preset costs quality at the same bitrate.
  const preset = z
    .enum(x264Presets)
    .optional()
    .parse(env['X264_PRESET'] === '' ? undefined : env['X264_PRESET']);
  return { ...encodingProfiles[profile], ...(preset === undefined ? {} : { preset }) };
}

function readEncryption(): PublishContext['encryption'] {
  const [given, endpoint] = [env[runnerVariables.contentKey], env[runnerVariables.keyEndpoint]];
  if (given === undefined || given === '') return null;
  const [, kid, key] = /^([0-9a-f]{32}):([0-9a-f]{32})$/i.exec(given) ?? [];
  if (kid === undefined || key === undefined) {
    throw new Error(`${runnerVariables.contentKey} must be <kid>:<key>, each 32 hex digits`);
  }
  if (endpoint === undefined || !URL.canParse(endpoint))
    throw new Error(`${runnerVariables.keyEndpoint} must be a URL`);
  return { contentKey: { kid: kid.toLowerCase(), key: Buffer.from(key, 'hex') }, keyEndpoint: endpoint };
}

/** Each step loads its own modules: the step that decodes untrusted bytes has no storage client. */
async function runStep(step: Step, context: StepContext): Promise<void> {
  if (step === 'process') {
    const { processSource } = await import('./steps/process.ts');
    return processSource(context);
  }
  const [{ openObjectStore }, { readStorageSettings }] = await Promise.all([
    import('#platform/storage/open.ts'),
    import('#platform/config/storage-settings.ts'),
  ]);
  const store = openObjectStore(readStorageSettings(env, step === 'fetch' ? 'SOURCE' : 'MEDIA'));
  try {
    if (step === 'fetch') {
      const { fetchSource } = await import('./steps/fetch.ts');
      await fetchSource(context, store);
    } else {
      const { publishResults } = await import('./steps/publish.ts');
      await publishResults({ ...context, encryption: readEncryption() }, store);
    }
  } finally {
    await store.close();
  }
}

function stepsToRun(): readonly Step[] {
  const requested = process.argv[2];
  if (requested === 'all') return steps;
  const step = steps.find((each) => each === requested);
  if (step === undefined) throw new Error(`usage: runner/main.ts ${steps.join('|')}|all`);
  return [step];
}

async function main(): Promise<number> {
  const level = z.enum(logLevels).catch('info').parse(env['LOG_LEVEL']);
  const log = createLogger({ level, name: 'runner' });
  const poster = openPoster();
  const tracing = openTracing();
  const terminationLog = env[runnerVariables.terminationLog];
  const reporter = createReporter((report) => {
    process.stdout.write(`${JSON.stringify(report)}\n`);
    poster?.post(report);
    if (terminationLog !== undefined) writeTerminationMessage(terminationLog, report);
  });
  let attempt = 1;
  try {
    const toRun = stepsToRun();
    const task = parseTask(env[runnerVariables.task] ?? '');
    ({ attempt } = task);
    const root = z.string().min(1).parse(env[runnerVariables.workspace]);
    const workspace = workspaceIn(root, env[runnerVariables.output]);
    const program = (tool: Parameters<typeof findProgram>[0]) => findProgram(tool, env);
    const base = { task, workspace, profile: profileOf(task), program, reporter, signal: stopping.signal };
    for (const step of toRun) {
      const stepLog = log.child({ job_id: task.job_id, attempt, step });
      const run = () => runStep(step, { ...base, log: stepLog });
      await (tracing === null ? run() : tracing.withSpan(`step ${step}`, spanOf(task), run));
      stopping.signal.throwIfAborted();
    }
    reporter.result(null);
    return exitCodes.done;
  } catch (thrown) {
    if (stopping.signal.aborted) {
      log.info({ reason: String(stopping.signal.reason) }, 'step stopped');
      return exitCodes.stopped;
    }
    const error = asProblem(thrown);
    log.error({ err: thrown, code: isJobProblem(error) ? error.code : 'internal' }, 'step failed');
    const jobError = toJobError(error, attempt);
    reporter.result(jobError);
    return exitCodeOf(jobError.code);
  } finally {
    await Promise.all([poster?.settled(), tracing?.send()]);
  }
}

function openPoster(): ReportPoster | null {
  const [url, token] = [env[runnerVariables.reportUrl], env[runnerVariables.reportToken]];
  return url === undefined || token === undefined ? null : new ReportPoster({ url, token });
}

function openTracing(): BriefTracing | null {
  const endpoint = env[runnerVariables.otlpEndpoint] ?? '';
  return endpoint === '' ? null : new BriefTracing({ endpoint, serviceName: 'reelwright-runner' });
}

/** The span of a step in the trace of its attempt. */
function spanOf({ job_id: id, attempt, type, trace }: Task): BriefSpanSettings {
  return {
    parent: trace,
    attributes: { 'job.id': id, 'job.type': type, 'job.attempt': attempt },
  };
}

/** A full disk or memory is a known problem; any other error is returned as it is. */
function asProblem(thrown: unknown): unknown {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  const isOutOfResource = code === 'ENOSPC' || code === 'EDQUOT' || code === 'ENOMEM';
  return isOutOfResource && !isJobProblem(thrown)
    ? new KnownProblem('resource_exhausted', undefined, { cause: thrown })
    : thrown;
}

process.once('SIGTERM', () => stop('SIGTERM'));
process.once('SIGINT', () => stop('SIGINT'));
// The parent has exited. Without this handler the failed write would end the runner before it has stopped its tools.
process.stdout.on('error', () => stop('stdout was closed'));
if (env['RUNNER_PARENT'] === 'stdin') {
  process.stdin.on('end', () => stop('the parent exited')).on('error', () => stop('the parent exited'));
  process.stdin.resume();
}

async function check(): Promise<number> {
  const { checkTools } = await import('./steps/check.ts');
  const missing = await checkTools((tool) => findProgram(tool, env));
  for (const line of missing) process.stderr.write(`${line}\n`);
  return missing.length === 0 ? 0 : 1;
}

process.exitCode = process.argv[2] === 'check' ? await check() : await main();
process.stdin.destroy();
