import { type Job, JobEndedError } from '../../clients/typescript/src/index.ts';
import type { Context, OptionRow } from '../command.ts';
import { printableLine } from '../output.ts';
import { bar, clockTime } from '../progress.ts';

// How a job is shown and followed.

/** Options of the commands that may wait for a job. */
export const waitOptions: Readonly<Record<string, OptionRow>> = {
  wait: { short: 'w', doc: 'wait until the job has ended, with a progress bar' },
  timeout: { value: 'SECONDS', doc: 'give up the wait after so long; the job goes on' },
};

/** Follows a job with a bar, and shows how it has ended. @throws JobEndedError unless it has completed */
export async function showEnd(context: Context, jobId: string): Promise<void> {
  const { output } = context;
  try {
    const job = await waitFor(context, jobId);
    output.result(job, textOf(job));
  } catch (error) {
    // Programs read the error on standard error, and the job on standard output.
    if (error instanceof JobEndedError && output.isJson) output.result(error.job, '');
    throw error;
  }
}

async function waitFor(context: Context, jobId: string): Promise<Job> {
  const { output, options, signal } = context;
  const timeoutSec = options.whole('timeout', 1, 10_000_000);
  return await (
    await context.client()
  ).waitFor(jobId, {
    signal,
    ...(timeoutSec === undefined ? {} : { timeoutSec }),
    onProgress: (job) => output.bar(lineOf(job)),
  });
}

function lineOf({ status, phase, progress, eta, reason }: Job): string {
  if (status === 'queued') return `queued${reason === null ? '' : `: ${reason.message}`}`;
  const left = eta === null ? '' : `  ends in ${clockTime(Math.max(0, Date.parse(eta) - Date.now()) / 1000)}`;
  return `${bar(progress / 100)} ${String(progress).padStart(3)} %  ${phase ?? status}${left}`;
}

/** A job as people read it. */
export function textOf(job: Job, usage: string | null = null): string {
  const { job_id, type, hash, status, progress, phase, reason, error, results, attempt, created_at, updated_at } = job;
  const rows: [string, string | null][] = [
    ['job', job_id],
    ['type', type],
    ['hash', hash],
    ['status', status === 'processing' ? `${status}, ${progress} %${phase === null ? '' : `, ${phase}`}` : status],
    ['waits for', reason?.message ?? null],
    ['attempt', String(attempt)],
    ['profile', job.profile],
    ['created', created_at],
    ['updated', updated_at],
    ['used', usage],
    ['error', error === null ? null : `${error.code}: ${error.message}`],
  ];
  const lines = rows.flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(9)}  ${printableLine(value)}`]));
  // JSON has no line break of a server's.
  const made = results === null ? [] : JSON.stringify(results, null, 2).split('\n');
  return [...lines, ...made.map((line, index) => `${(index === 0 ? 'results' : '').padEnd(9)}  ${line}`)].join('\n');
}
