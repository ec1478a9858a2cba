import { z } from 'zod';
import { bytesSaved, itemCountsOf, itemCountsSchema, meanScore } from '#domain/rollouts/counts.ts';
import type { RolloutPlan } from '#domain/rollouts/plan.ts';
import {
  type Rollout,
  type RolloutCounts,
  rolloutRequestSchema,
  rolloutStatuses,
  totalOf,
} from '#domain/rollouts/rollout.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import { count, hashField, jobIdField, nextCursorField, time } from './fields.ts';

const score = z
  .number()
  .nullable()
  .meta({ examples: [94.2] });
const countsSchema = itemCountsSchema.extend({
  bytes: z
    .object({
      before: count.describe('Bytes of the earlier streams.').meta({ examples: [7_200_000_000] }),
      after: count.describe('Bytes of the new streams.').meta({ examples: [4_100_000_000] }),
      saved: z
        .int()
        .describe('The difference; negative where they grew.')
        .meta({ examples: [3_100_000_000] }),
    })
    .describe('The sizes of the streams that were made, where both are known.'),
  score: z
    .object({
      mean: score.describe('The mean score of what was made; null without one.'),
      before: score.describe('The mean score of the earlier streams, of media that have both; null without one.'),
      after: score.describe('The mean score of the new streams, of media that have both; null without one.'),
    })
    .describe("The scores in the measure of the profile's `quality`."),
});

const notChosen = z
  .record(z.string(), count)
  .describe('Media that were found and not chosen, by why.')
  .meta({ examples: [{ no_stream: 31, legal_hold: 2 }] });

export const rolloutSchema = z
  .object({
    rollout_id: z.uuid().describe('The rollout.'),
    status: z.enum(rolloutStatuses).describe('The status of the rollout.'),
    paused: z.boolean().describe('Whether it begins no rerun for now.'),
    reason: z
      .string()
      .nullable()
      .describe('Why it is, or was, rolled back or cancelled; null otherwise.')
      .meta({ examples: [null] }),
    spec: rolloutRequestSchema.describe('What was asked for.'),
    is_planned: z.boolean().describe('Whether every media was looked at: before, the counts still grow.'),
    media: countsSchema.describe('The counts of all media of the rollout.'),
    canary: countsSchema.nullable().describe('The counts of the canary; null without one.'),
    gate: z
      .object({
        passed: z.boolean().describe('Whether the canary passed.'),
        failures: z
          .array(z.string())
          .describe('The limits that it failed.')
          .meta({ examples: [[]] }),
      })
      .nullable()
      .describe('How the canary was judged; null before.'),
    not_chosen: notChosen,
    hours_today: z
      .number()
      .describe('Hours of the current day in UTC, by reruns that have ended.')
      .meta({ examples: [11.5] }),
    created_at: time.describe('When it was begun.'),
    updated_at: time.describe('When it last changed.'),
    finished_at: time
      .nullable()
      .describe('When it ended.')
      .meta({ examples: [null] }),
  })
  .register(answers, { id: 'Rollout' });

export const rolloutPlanSchema = z
  .object({
    spec: rolloutRequestSchema.describe('What was asked for.'),
    is_whole: z.boolean().describe('Whether every media was looked at: otherwise there are at least so many.'),
    looked_at: count.describe('Media that were looked at.').meta({ examples: [1_200] }),
    media: count.describe('Media that would be made again.').meta({ examples: [1_040] }),
    not_chosen: notChosen,
    source_hours: z
      .number()
      .min(0)
      .describe('Hours of the sources of these media.')
      .meta({ examples: [512.5] }),
    unmeasured: count
      .describe('Media among them whose length was not recorded: hours and estimates leave them out.')
      .meta({ examples: [0] }),
    bytes: z
      .object({
        now: count.describe('Bytes of the present streams.').meta({ examples: [912_000_000_000] }),
        expected: count
          .nullable()
          .describe('Bytes of the new streams, by the last 30 days of `to_profile`; null: it made none.')
          .meta({ examples: [640_000_000_000] }),
      })
      .describe('The sizes of the streams. Until the earlier ones are removed both are stored.'),
    processor_hours: z
      .number()
      .min(0)
      .nullable()
      .describe('Hours of processor time that they are expected to take; null: nothing was recorded.')
      .meta({ examples: [2_050.25] }),
    estimated_from: z
      .enum(['profile', 'present_streams'])
      .nullable()
      .describe('What the estimates come from: the last 30 days of `to_profile`, or what the present streams took.'),
  })
  .register(answers, { id: 'RolloutPlan' });

/** The body of `POST /api/rollouts`. */
export const rolloutBodySchema = rolloutRequestSchema.register(bodies, { id: 'CreateRolloutRequest' });

/** One rollout, with its last failures. */
export const rolloutDetailsSchema = rolloutSchema
  .extend({
    failures: z
      .array(
        z.object({
          hash: hashField,
          job_id: jobIdField.nullable().describe('The job that failed; null where none was made.'),
          reason: z
            .string()
            .describe('Why, in one word.')
            .meta({ examples: ['corrupt_input'] }),
        }),
      )
      .describe('The last media that failed.'),
  })
  .register(answers, { id: 'RolloutDetails' });

export const rolloutListSchema = z
  .object({
    rollouts: z.array(rolloutSchema).describe('The rollouts, the newest first.'),
    next_cursor: nextCursorField,
  })
  .register(answers, { id: 'RolloutList' });

/** A rollout as callers see it. */
export function rolloutToWire(rollout: Rollout): z.output<typeof rolloutSchema> {
  const { id, status, isPaused, reason, spec, isPlanned, canary, verdict, skipped, hoursToday } = rollout;
  return {
    rollout_id: id,
    status,
    paused: isPaused,
    reason,
    spec,
    is_planned: isPlanned,
    media: countsToWire(totalOf(rollout)),
    canary: spec.canary === undefined ? null : countsToWire(canary),
    gate: verdict === null ? null : { passed: verdict.passed, failures: [...verdict.failures] },
    not_chosen: { ...skipped },
    hours_today: Number(hoursToday.toFixed(4)),
    created_at: rollout.createdAt.toISOString(),
    updated_at: rollout.updatedAt.toISOString(),
    finished_at: rollout.finishedAt?.toISOString() ?? null,
  };
}

const hours = (ms: number) => Number((ms / 3_600_000).toFixed(4));

/** A plan as callers see it. */
export function rolloutPlanToWire(
  spec: z.output<typeof rolloutRequestSchema>,
  { plan, isWhole }: { readonly plan: RolloutPlan; readonly isWhole: boolean },
): z.output<typeof rolloutPlanSchema> {
  return {
    spec,
    is_whole: isWhole,
    looked_at: plan.lookedAt,
    media: plan.media,
    not_chosen: { ...plan.skipped },
    source_hours: hours(plan.sourceMs),
    unmeasured: plan.unmeasured,
    bytes: { now: plan.bytesNow, expected: plan.bytesExpected },
    processor_hours: plan.processorMs === null ? null : hours(plan.processorMs),
    estimated_from: plan.estimatedFrom,
  };
}

function countsToWire(counts: RolloutCounts): z.output<typeof countsSchema> {
  const { bytesBefore, bytesAfter, compared } = counts;
  return {
    ...itemCountsOf(counts),
    bytes: { before: bytesBefore, after: bytesAfter, saved: bytesSaved(counts) },
    score: {
      mean: meanScore(counts.scoreSum, counts.scored),
      before: meanScore(counts.comparedBeforeSum, compared),
      after: meanScore(counts.comparedAfterSum, compared),
    },
  };
}
