import { jobErrorCodes } from '#domain/errors.ts';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { jobStatuses } from '#domain/jobs/status.ts';
import type { JobFilter } from '../clients/typescript/src/index.ts';
import type { OptionRow, Options } from './command.ts';
import { UsageError } from './exit-codes.ts';

// Which jobs a command is about: the filters of the list of jobs, as options.

/** The filters but the status, which some commands decide. */
export const filterOptions: Readonly<Record<string, OptionRow>> = {
  type: { value: 'TYPE', short: 't', words: jobTypeNames, doc: 'jobs of this type only' },
  hash: { value: 'HASH', doc: 'jobs of this media only' },
  prefix: { value: 'TEXT', doc: 'jobs of media whose hash begins with it' },
  code: { value: 'CODE', words: jobErrorCodes, doc: 'jobs that ended with this error' },
  since: { value: 'TIME', doc: 'jobs from after 30m, 24h or 7d ago, yesterday, today, or a time such as 2026-11-24' },
  until: { value: 'TIME', doc: 'jobs from before it' },
};

export const statusOption: OptionRow = {
  value: 'STATUS',
  short: 's',
  words: jobStatuses,
  doc: `one of ${jobStatuses.join(', ')}`,
};

/** The query of the list that the options ask for. @throws UsageError that names a wrong option */
export function jobFilterOf(options: Options): JobFilter {
  const given = {
    type: options.word('type', jobTypeNames),
    status: options.word('status', jobStatuses),
    code: options.word('code', jobErrorCodes),
    hash: options.text('hash'),
    prefix: options.text('prefix'),
    created_after: timeOf('since', options),
    created_before: timeOf('until', options),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Days of this machine's time zone, by how many midnights ago they began. */
const days: Readonly<Record<string, number>> = { today: 0, yesterday: 1 };

/** @throws UsageError that names the option */
function timeOf(name: string, options: Options, nowMs = Date.now()): string | undefined {
  const given = options.text(name);
  if (given === undefined) return undefined;
  const midnights = days[given];
  if (midnights !== undefined) {
    const day = new Date(nowMs);
    return new Date(day.getFullYear(), day.getMonth(), day.getDate() - midnights).toISOString();
  }
  const [, count = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(given) ?? [];
  const ms = count === '' ? Date.parse(given) : nowMs - Number(count) * (unitsMs[unit] ?? 0);
  if (Number.isFinite(ms) && (count !== '' || /^\d{4}-\d\d-\d\d/.test(given))) return new Date(ms).toISOString();
  throw new UsageError(
    `--${name}: expected 30m, 24h, 7d, today, yesterday or a time such as 2026-11-24T08:00:00Z, found ${given}`,
  );
}
