import type { Database } from '#platform/postgres/database.ts';
import { DeliveredStore } from '#platform/postgres/delivered-store.ts';
import { holdJob, releaseHeldOf } from '#platform/postgres/held-jobs.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { usageDimensions, usageOf } from '#platform/postgres/usage-store.ts';
import { idOfRow, usageDays, usageKeys, usageTypes } from './many-rows.ts';
import { newJobOf } from './new-job.ts';

type Query = readonly [what: string, examinedMax: number, call: (d: Database) => Promise<unknown>];

const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);

/** Usage and quotas of a year, of three. */
export function usageQueries(): Query[] {
  const year = { from: day(usageDays / 3 - 1), to: day(0), limit: 10_000 };
  const month = { ...year, from: day(30) };
  const request = { type: 'image:thumbnail' as const, hash: 'busy', source: 'in', options: { outputs: [] } };
  const newJob = { ...newJobOf(request), keyId: '00000005' };
  const step = {
    step: 'process' as const,
    started_at: new Date(0).toISOString(),
    duration_ms: 1,
    processor_ms: 1,
    code: null,
  };
  const ran = { unit: 'whole' as const, chunk: null, pod: null, steps: [step] };
  const waits = { code: 'key_quota', message: 'jobs_a_day' } as const;
  const rowsOfDay = usageKeys * usageTypes.length;
  const daysOfYear = usageDays / 3;
  // What a key has stored is the sum of all its days. Its unfinished jobs are counted too.
  const rowsOfKey = usageDays * usageTypes.length;
  return [
    [
      'usage: a year of all keys',
      daysOfYear * usageTypes.length,
      (d) => usageOf(d, { ...year, by: ['day'], keyId: null }),
    ],
    [
      'usage: a year by key and type',
      // Eleven months and the days of two.
      (11 + 2 * 31) * rowsOfDay,
      (d) => usageOf(d, { ...year, by: ['key', 'type'], keyId: null }),
    ],
    // Of a third of the table whole rows are read from end to end, and rightly: a month of them is found by the index.
    ['usage: a month by everything', 31 * rowsOfDay, (d) => usageOf(d, { ...month, by: usageDimensions, keyId: null })],
    ['usage: a year of a key', rowsOfKey / 3, (d) => usageOf(d, { ...year, by: ['day', 'type'], keyId: '00000005' })],
    [
      'usage: a cancelled attempt',
      10,
      (d) => new JobStore(d).noteWorkOfCancelled({ jobId: idOfRow(5), attempt: 1 }, [ran]),
    ],
    ['usage: bytes that were delivered', 10, (d) => new DeliveredStore(d).add(new Map([['busy', 5]]))],
    ['quotas: jobs that wait for one', 10, (d) => new JobStore(d).releaseHeld()],
    ['quotas: those of a key', 10, (d) => releaseHeldOf(d, '00000005')],
    [
      'quotas: a job that has to wait',
      10,
      (d) => d.transaction((client) => holdJob(client, { id: idOfRow(5) }, waits)),
    ],
    ['usage: today', usageTypes.length, (d) => new JobStore(d).usageOfToday()],
    [
      'quotas: a submission',
      rowsOfKey + 500,
      (d) => new JobStore(d).insertOrFind({ ...newJob, quotas: { jobs_a_day: 1e9 } }),
    ],
    [
      'quotas: a submission over one',
      rowsOfKey + 500,
      (d) =>
        new JobStore(d)
          .insertOrFind({ ...newJob, quotas: { output_minutes_a_day: 1e-6 } })
          .catch((error: unknown) => error),
    ],
  ];
}
