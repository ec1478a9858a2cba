import { z } from 'zod';
import { answers } from '#platform/http/route-doc.ts';
import { type UsageDimension, usageDimensions, type UsageRow, type UsedTimes } from '#platform/postgres/usage-store.ts';
import { count, jobTypeField } from './fields.ts';

// What work came to, of a job and of days.

const seconds = z.number().min(0);

/** The processor and pod time of attempts, in seconds. */
const usedTimeFields = {
  processor_seconds: seconds
    .describe('Processor time of all steps, as far as it is known.')
    .meta({ examples: [192.4] }),
  processor_fetch_seconds: seconds.describe('Of these, of the step `fetch`.').meta({ examples: [1.2] }),
  processor_process_seconds: seconds.describe('Of these, of the step `process`.').meta({ examples: [188.9] }),
  processor_publish_seconds: seconds.describe('Of these, of the step `publish`.').meta({ examples: [2.3] }),
  pod_seconds: seconds.describe('The time of pods, or of the processes of a worker.').meta({ examples: [61.5] }),
  wasted_seconds: seconds.describe('Of these, of attempts that were killed or repeated.').meta({ examples: [0] }),
};

export const jobUsageSchema = z.object(usedTimeFields).register(answers, { id: 'JobUsage' });

const usageRowSchema = z.object({
  day: z.iso
    .date()
    .optional()
    .describe('The day (UTC).')
    .meta({ examples: ['2026-11-27'] }),
  key_id: z
    .string()
    .nullable()
    .optional()
    .describe('The API key that asked for it; null: none did.')
    .meta({ examples: ['2bb80d53'] }),
  key_name: z
    .string()
    .nullable()
    .optional()
    .describe('The name of the key; null where there is no such key any more.')
    .meta({ examples: ['acme'] }),
  type: jobTypeField.optional(),
  profile: z
    .string()
    .nullable()
    .optional()
    .describe('The encoding profile; null where no stream was made.')
    .meta({ examples: ['default'] }),
  codec: z
    .string()
    .nullable()
    .optional()
    .describe('The codecs of the profile, joined by `+`; null where no stream was made.')
    .meta({ examples: ['h264'] }),
  jobs: count.describe('Jobs that ended, however.').meta({ examples: [42] }),
  source_bytes: count.describe('The size of their sources, where it is measured.').meta({ examples: [48_000_000] }),
  source_minutes: seconds.describe('How long the sources of their streams are.').meta({ examples: [63.5] }),
  output_bytes: count.describe('The size of what they made.').meta({ examples: [96_000_000] }),
  output_minutes: seconds
    .describe('How long the renditions of their streams are, each counted.')
    .meta({ examples: [254] }),
  ...usedTimeFields,
  stored_bytes: z
    .int()
    .describe('How much more results take up after it than before; negative where more was removed.')
    .meta({ examples: [96_000_000] }),
  delivered_bytes: count
    .describe('The bytes of their streams that delivery sent, on the day that they were sent.')
    .meta({ examples: [1_200_000_000] }),
});

export const usageSchema = z
  .object({
    from: z.iso
      .date()
      .describe('The first day (UTC).')
      .meta({ examples: ['2026-11-01'] }),
    to: z.iso
      .date()
      .describe('The last day.')
      .meta({ examples: ['2026-11-30'] }),
    rows: z.array(usageRowSchema).describe('The sums, in the order of the fields that `by` names.'),
  })
  .register(answers, { id: 'Usage' });

const isDimension = (name: string): name is UsageDimension => usageDimensions.some((each) => each === name);

export const usageQuerySchema = z.strictObject({
  from: z.iso.date().optional().describe('The first day (UTC); by default 29 days before the last.'),
  to: z.iso.date().optional().describe('The last day; by default today.'),
  by: z
    .string()
    .default('day')
    .refine((text) => text.split(',').every(isDimension), `must name some of ${usageDimensions.join(', ')}`)
    .describe('What to tell apart: `day`, `key`, `type`, `profile`, `codec`, joined by commas.')
    .meta({ examples: ['day,key'] }),
  format: z.enum(['json', 'csv']).optional().describe('By default what `Accept` asks for, else `json`.'),
});

/** The dimensions that an accepted `by` names, each once. */
export function dimensionsOf(by: string): UsageDimension[] {
  return [...new Set(by.split(',').filter(isDimension))];
}

const secondsOf = (ms: number) => ms / 1000;
const minutesOf = (ms: number) => Math.round(ms / 60) / 1000;

export function usedTimesToWire({
  fetchMs,
  processMs,
  publishMs,
  podMs,
  wastedMs,
}: UsedTimes): z.output<typeof jobUsageSchema> {
  return {
    processor_seconds: secondsOf(fetchMs + processMs + publishMs),
    processor_fetch_seconds: secondsOf(fetchMs),
    processor_process_seconds: secondsOf(processMs),
    processor_publish_seconds: secondsOf(publishMs),
    pod_seconds: secondsOf(podMs),
    wasted_seconds: secondsOf(wastedMs),
  };
}

/** `nameOf` says the names of keys that are in no table. */
export function usageRowToWire(
  { day, keyId, keyName, type, profile, codec, ...sums }: UsageRow,
  nameOf: (keyId: string) => string | null,
): z.output<typeof usageRowSchema> {
  return {
    ...(day === undefined ? {} : { day }),
    ...(keyId === undefined ? {} : { key_id: keyId, key_name: keyName ?? (keyId === null ? null : nameOf(keyId)) }),
    ...(type === undefined ? {} : { type }),
    ...(profile === undefined ? {} : { profile }),
    ...(codec === undefined ? {} : { codec }),
    jobs: sums.jobs,
    source_bytes: sums.sourceBytes,
    source_minutes: minutesOf(sums.sourceMs),
    output_bytes: sums.outputBytes,
    output_minutes: minutesOf(sums.outputMs),
    ...usedTimesToWire(sums),
    stored_bytes: sums.storedBytes,
    delivered_bytes: sums.deliveredBytes,
  };
}

const fieldsOf: Readonly<Record<UsageDimension, readonly string[]>> = {
  day: ['day'],
  key: ['key_id', 'key_name'],
  type: ['type'],
  profile: ['profile'],
  codec: ['codec'],
};
const dimensionFields = new Set(Object.values(fieldsOf).flat());
const sumFields = Object.keys(usageRowSchema.shape).filter((name) => !dimensionFields.has(name));

/** The rows as CSV (RFC 4180), the names of the fields first. */
export function usageToCsv(rows: readonly z.output<typeof usageRowSchema>[], by: readonly UsageDimension[]): string {
  const names = [...by.flatMap((dimension) => fieldsOf[dimension]), ...sumFields] as (keyof (typeof rows)[number])[];
  const lines = rows.map((row) => names.map((name) => csvField(row[name] ?? '')));
  return [names, ...lines].map((line) => `${line.join(',')}\r\n`).join('');
}

/** A text that a spreadsheet would take for a formula is shown as it is. */
function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
