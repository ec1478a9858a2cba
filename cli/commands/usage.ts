import { dataOf } from '../../clients/typescript/src/http.ts';
import type { Schemas } from '../../clients/typescript/src/index.ts';
import type { Command } from '../command.ts';
import { UsageError } from '../exit-codes.ts';

type Row = Schemas['UsageRow'];

const dimensions = ['day', 'key', 'type', 'profile', 'codec'] as const;
type Dimension = (typeof dimensions)[number];

const cellOf: Readonly<Record<Dimension, (row: Row) => string>> = {
  day: ({ day }) => day ?? '',
  key: ({ key_name: name, key_id: id }) => name ?? id ?? 'none',
  type: ({ type }) => type ?? '',
  profile: ({ profile }) => profile ?? '-',
  codec: ({ codec }) => codec ?? '-',
};

const hours = (seconds: number) => (seconds / 3600).toFixed(2);
const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(3);

export const usage: Command = {
  name: 'usage',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Shows what work came to: jobs, minutes, hours of processors and pods, and bytes.',
  example: 'usage --from 2026-11-01 --to 2026-11-30 --by key,type',
  options: {
    from: { value: 'DAY', doc: 'the first day, UTC (29 days before the last)' },
    to: { value: 'DAY', doc: 'the last day (today)' },
    by: { value: 'NAMES', doc: `what to tell apart (day): some of ${dimensions.join(', ')}` },
  },
  run: async ({ options, output, client }) => {
    const by = (options.text('by') ?? 'day').split(',').map((name) => {
      const known = dimensions.find((each) => each === name);
      if (known !== undefined) return known;
      throw new UsageError(`--by: expected some of ${dimensions.join(', ')}, found ${JSON.stringify(name)}`);
    });
    const [from, to] = [options.text('from'), options.text('to')];
    const query = {
      by: by.join(','),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    };
    const { http } = await client();
    const found = await dataOf(http.GET('/api/usage', { params: { query } }));
    if (typeof found === 'string') throw new TypeError('CSV was not asked for');
    if (found.rows.length === 0) output.note(`nothing was used from ${found.from} to ${found.to}`);
    output.list(
      found,
      [
        ...by.map((name) => name.toUpperCase()),
        'JOBS',
        'OUT MIN',
        'CPU H',
        'POD H',
        'WASTED H',
        'OUT GB',
        'STORED GB',
        'SENT GB',
      ],
      found.rows.map((row) => [
        ...by.map((name) => cellOf[name](row)),
        String(row.jobs),
        row.output_minutes.toFixed(1),
        hours(row.processor_seconds),
        hours(row.pod_seconds),
        hours(row.wasted_seconds),
        gigabytes(row.output_bytes),
        gigabytes(row.stored_bytes),
        gigabytes(row.delivered_bytes),
      ]),
    );
  },
};
