import type { Job, ListedJob, Reelwright } from '../../clients/typescript/src/index.ts';
import type { Command, Context } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { firstOf } from '../first-of.ts';
import { filterOptions, jobFilterOf, statusOption } from '../job-filter.ts';
import { idText, jobIdOf } from '../job-id.ts';
import { type Badge, timeText } from '../output.ts';
import { manyJobsCommands } from './many-jobs.ts';
import { playLines, showEnd, textOf, waitOptions } from './show.ts';

// The commands about jobs.

const jobs: Command = {
  name: 'jobs',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Lists jobs, the newest first.',
  example: 'jobs --code storage_error --since 24h',
  options: {
    status: statusOption,
    ...filterOptions,
    limit: { value: 'N', short: 'n', doc: 'at most so many (20)' },
  },
  run: async ({ options, output, client }) => {
    const limit = options.whole('limit', 1, 100_000) ?? 20;
    const filter = { ...jobFilterOf(options), limit: Math.min(100, limit) };
    const found = await firstOf((await client()).jobs(filter), limit);
    if (found.length === 0) output.note('no job matches');
    output.list(
      { jobs: found },
      ['JOB', 'TYPE', 'HASH', 'STATUS', 'CREATED', 'TITLE'],
      found.map((job) => [
        idText(job.job_id, output),
        job.type,
        job.hash,
        stateOf(job),
        timeText(job.created_at, output),
        job.title ?? '',
      ]),
    );
  },
};

const colours = {
  queued: 'dim',
  processing: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'dim',
} as const satisfies Record<ListedJob['status'], string>;

function stateOf({ status, progress, error }: ListedJob): Badge {
  const colour = colours[status];
  if (status === 'processing') return { colour, word: `${status} ${progress} %` };
  return { colour, word: status === 'failed' && error !== null ? `${status} ${error.code}` : status };
}

const job: Command = {
  name: 'job',
  args: 'ID',
  argsMin: 1,
  argsMax: 1,
  completes: 'jobs',
  doc: 'Shows a job with its results or its error.',
  example: 'job 7d8a0c6e --json',
  options: {},
  run: async (context) => {
    const { output } = context;
    const reelwright = await context.client();
    const found = await reelwright.job(await jobIdOf(context));
    if (output.isJson) return output.result(found, '');
    output.result(
      found,
      [textOf(found, await usageOf(reelwright, found)), ...(await playLines(context, found))].join('\n'),
    );
  },
};

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** The usage of a job in words; null where it is not known, as with a server of an earlier version. */
async function usageOf({ http }: Reelwright, { job_id: id }: Job): Promise<string | null> {
  const { data } = await http
    .GET('/api/jobs/{id}/timeline', { params: { path: { id } } })
    .catch(() => ({ data: null }));
  const { duration_ms: duration, processor_ms: processor } = data?.usage ?? { duration_ms: null, processor_ms: null };
  if (duration === null || processor === null) return null;
  return `${seconds(processor)} of processors in ${seconds(duration)}`;
}

const watch: Command = {
  name: 'watch',
  args: 'ID',
  argsMin: 1,
  argsMax: 1,
  completes: 'jobs',
  doc: 'Follows a job until it has ended; where streams do not pass, it is polled.',
  example: 'watch 7d8a0c6e --timeout 600',
  options: { timeout: waitOptions['timeout'] ?? { doc: '' } },
  run: async (context) => showEnd(context, await jobIdOf(context)),
};

const rerun: Command = {
  name: 'rerun',
  args: '[ID]',
  argsMin: 0,
  argsMax: 1,
  completes: 'jobs',
  doc: 'Makes a completed or failed job again, as a new revision.',
  more: 'With --media in place of the id: the latest completed job that made the stream of the media.',
  example: 'rerun --media movie-1 --profile mobile --wait',
  options: {
    media: { value: 'HASH', doc: 'make the stream of this media again' },
    reason: { value: 'TEXT', doc: 'recorded with the job' },
    profile: { value: 'NAME', doc: 'the encoding profile' },
    ...waitOptions,
  },
  run: async (context) => {
    const { options, output } = context;
    const [reason, profile] = [options.text('reason'), options.text('profile')];
    const made = await (
      await context.client()
    ).rerun(await rerunOf(context), {
      ...(reason === undefined ? {} : { reason }),
      ...(profile === undefined ? {} : { profile }),
    });
    if (options.flag('wait')) return await showEnd(context, made.job_id);
    output.result(made, `${made.job_id}  ${made.type}  ${made.status}`);
  },
};

/** The job that is made again. @throws UsageError where there is none, or both an id and a media are given */
async function rerunOf(context: Context): Promise<string> {
  const { args, options, client } = context;
  const hash = options.text('media');
  if ((hash === undefined) === (args.length === 0))
    throw new UsageError('rerun: expected the id of a job or --media HASH');
  if (hash === undefined) return await jobIdOf(context);
  const service = await client();
  for (const type of ['video:full', 'video:transcode'] as const) {
    const [latest] = await firstOf(service.jobs({ hash, type, status: 'completed', limit: 1 }), 1);
    if (latest !== undefined) return latest.job_id;
  }
  throw new UsageError(`${hash}: no completed job made a stream of it; give the id of a job`);
}

export const jobCommands: readonly Command[] = [jobs, job, watch, ...manyJobsCommands, rerun];
