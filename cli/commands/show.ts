import { type Job, JobEndedError } from '../../clients/typescript/src/index.ts';
import type { Context, OptionRow } from '../command.ts';
import { idText } from '../job-id.ts';
import { printableLine } from '../output.ts';
import { bar, bytesText, clockTime } from '../progress.ts';
import { playerAddress } from './signing.ts';

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
    const lines = output.isJson ? [] : [textOf(job), ...(await playLines(context, job))];
    output.result(job, lines.join('\n'));
  } catch (error) {
    // Programs read the error on standard error, and the job on standard output.
    if (error instanceof JobEndedError && output.isJson) output.result(error.job, '');
    if (context.signal.aborted) {
      const id = idText(jobId, output);
      output.note(`Detached; the job goes on: reelwright watch ${id}, or reelwright cancel ${id}`);
    }
    throw error;
  }
}

/** The address at which the stream of a job plays, as a line; none where it made no stream. */
export async function playLines(context: Context, { status, results, hash }: Job): Promise<readonly string[]> {
  const isStream = status === 'completed' && results !== null && 'streaming' in results;
  return isStream ? [`${'play'.padEnd(9)}  ${await playerAddress(context, hash)}`] : [];
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
    ['title', job.title],
    ...Object.entries(job.metadata).map(([name, text]): [string, string] => ['metadata', `${name}=${text}`]),
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
  const made = results === null ? [] : resultLines(results);
  return [...lines, ...made.map((line, index) => `${(index === 0 ? 'results' : '').padEnd(9)}  ${line}`)].join('\n');
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Fields of results that say nothing a person looks for; `--json` has them. */
const hidden = new Set(['stages', 'retry_plan', 'streaming', 'encryption']);

/** The results of a job, a line each: its tracks, images and warnings, by what tells them apart. */
function resultLines(results: Fields): string[] {
  return Object.entries(results).flatMap(([name, value]) => {
    if (hidden.has(name) || value === null) return [];
    if (name === 'artifacts' && isFields(value)) return resultLines(value);
    const each = (Array.isArray(value) ? value : [value]) as readonly unknown[];
    return each.map((one) =>
      printableLine(`${name.replaceAll('_', ' ')}: ${isFields(one) ? summaryOf(one) : String(one)}`),
    );
  });
}

function summaryOf({ width, height, video, bitrate, size, duration_sec: duration, ...fields }: Fields): string {
  const size2 = typeof width === 'number' ? `${width}×${String(height)}` : undefined;
  const words = ['id', 'variant', 'language', 'codec', 'format', 'container', 'message', 'key', 'cues']
    .map((name) => fields[name])
    .filter((value) => typeof value === 'string');
  const amounts = [
    typeof duration === 'number' ? `${duration} s` : undefined,
    typeof bitrate === 'number' ? `${(bitrate / 1e6).toFixed(1)} Mb/s` : undefined,
    typeof size === 'number' ? bytesText(size) : undefined,
  ];
  const parts = [isFields(video) ? summaryOf(video) : undefined, size2, ...words, ...amounts];
  return parts.filter((part) => part !== undefined).join(' ');
}
