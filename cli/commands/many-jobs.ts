import type { JobFilter, ListedJob, Reelwright } from '../../clients/typescript/src/index.ts';
import type { Command, Context, OptionRow } from '../command.ts';
import { confirm } from '../confirm.ts';
import { exitCode, UsageError } from '../exit-codes.ts';
import { firstOf } from '../first-of.ts';
import { forEachJob } from '../for-each.ts';
import { filterOptions, jobFilterOf } from '../job-filter.ts';
import { jobIdOf } from '../job-id.ts';

// `retry` and `cancel`: one job, or with --all each that the filters choose.

const manyMax = 10_000;
const manyOptions: Readonly<Record<string, OptionRow>> = {
  all: { doc: 'each job that the filters below choose, after a confirmation' },
  ...filterOptions,
  limit: { value: 'N', short: 'n', doc: `with --all at most so many, the newest first (1000, at most ${manyMax})` },
  yes: { short: 'y', doc: 'with --all: do not ask' },
};

interface Action {
  readonly name: string;
  /** As in `12 jobs were …`. */
  readonly done: string;
  readonly statuses: readonly ListedJob['status'][];
  /** The text of the outcome for one job. */
  readonly run: (client: Reelwright, id: string) => Promise<{ readonly value: unknown; readonly text: string }>;
}

/** Which of the jobs that an action is for. */
const statusOf = ({ statuses }: Action): OptionRow => ({
  value: 'STATUS',
  short: 's',
  words: statuses,
  doc: `with --all: ${statuses.join(' or ')} jobs only`,
});

/** An action on one job or on many. */
function command(action: Action, row: Pick<Command, 'doc' | 'example' | 'more'>): Command {
  return {
    ...row,
    name: action.name,
    args: '[ID]',
    argsMin: 0,
    argsMax: 1,
    completes: 'jobs',
    options: action.statuses.length === 1 ? manyOptions : { status: statusOf(action), ...manyOptions },
    run: async (context) => {
      const { args, options, output } = context;
      if (options.flag('all') === (args.length === 1))
        throw new UsageError(`${action.name}: expected the id of a job or --all, found ${args[0] ?? 'nothing'}`);
      if (options.flag('all')) return await runAll(context, action);
      const { value, text } = await action.run(await context.client(), await jobIdOf(context));
      output.result(value, text);
      return 0;
    },
  };
}

async function runAll(context: Context, action: Action): Promise<number> {
  const { options, output } = context;
  const limit = options.whole('limit', 1, manyMax) ?? 1_000;
  const client = await context.client();
  const status = options.word('status', action.statuses);
  const statuses = status === undefined ? action.statuses : [status];
  const jobs = await chosenJobs(client, { filter: jobFilterOf(options), statuses, limit });
  if (jobs.length > 0) {
    const noun = jobs.length === 1 ? 'job' : 'jobs';
    output.note(`${jobs.length} ${noun}${jobs.length === limit ? ', as many as --limit' : ''}: ${codesOf(jobs)}`);
    const purpose = `to ${action.name} the ${noun}`;
    await confirm(context, { expected: String(jobs.length), purpose, otherwise: `nothing was ${action.done}` });
  }
  const failed = await forEachJob(context, jobs, (id) => action.run(client, id));
  const done = jobs.length - failed.length;
  output.result({ [action.done]: done, failed }, `${done} ${action.done}, ${failed.length} refused`);
  return failed.length === 0 ? 0 : exitCode('conflict');
}

interface Choice {
  readonly filter: JobFilter;
  readonly statuses: readonly ListedJob['status'][];
  readonly limit: number;
}

/** The jobs of a filter in these statuses, each status the newest first. A job that begins meanwhile is in it once. */
async function chosenJobs(client: Reelwright, { filter, statuses, limit }: Choice): Promise<ListedJob[]> {
  const found = new Map<string, ListedJob>();
  for (const status of statuses) {
    const left = limit - found.size;
    if (left <= 0) break;
    const listed = await firstOf(client.jobs({ ...filter, status, limit: Math.min(100, left) }), left);
    for (const job of listed) found.set(job.job_id, job);
  }
  return [...found.values()];
}

/** `12 storage_error, 3 internal`, or the statuses of jobs without an error. */
function codesOf(jobs: readonly ListedJob[]): string {
  const groups = Map.groupBy(jobs, ({ status, error }) => error?.code ?? status);
  return [...groups].map(([name, { length }]) => `${length} ${name}`).join(', ');
}

const retry = command(
  {
    name: 'retry',
    done: 'retried',
    statuses: ['failed'],
    run: async (client, id) => {
      const value = await client.retry(id);
      const lines = value.jobs.map(({ job_id, type, status }) => `${job_id}  ${type}  ${status}`);
      return { value, text: lines.join('\n') };
    },
  },
  {
    doc: 'Tries a failed job again: its failed stages, or all of it.',
    more: 'With --all each failed job that the filters choose; a job that cannot be retried is named and left.',
    example: 'retry --all --code storage_error --since 24h',
  },
);

const cancel = command(
  {
    name: 'cancel',
    done: 'cancelled',
    statuses: ['queued', 'processing'],
    run: async (client, id) => {
      const value = await client.cancel(id);
      return { value, text: `${value.job_id}  ${value.status}` };
    },
  },
  {
    doc: 'Cancels a job that has not ended.',
    more: 'With --all each queued or running job that the filters choose.',
    example: 'cancel --all --status queued --prefix show-',
  },
);

export const manyJobsCommands: readonly Command[] = [cancel, retry];
