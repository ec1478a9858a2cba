import { z } from 'zod';
import { explain, faultsOf } from '../jobs/faults.ts';
import { bytesSaved, itemCountsOf, itemCountsSchema, meanScore } from '../rollouts/counts.ts';
import { type Rollout, rolloutRequestSchema, type RolloutSpec, rolloutStatuses, totalOf } from '../rollouts/rollout.ts';
import { bare, conditionsSchema, type CustomResource, withoutDefaults } from './custom-resource.ts';

// A MediaRollout is a rollout as a Kubernetes object. The controller makes a row of it, whose id is the object's uid,
// and writes the row's state into the status.

const { to_profile: toProfile, which, budget, canary } = rolloutRequestSchema.shape;
const fieldsOf = (schema: z.ZodType) => bare(schema) as z.ZodObject;

const specSchema = z
  .strictObject({
    which: withoutDefaults(fieldsOf(which))
      .optional()
      .describe('Which media; left out: every media with a stream. All fields must fit.'),
    to_profile: toProfile,
    budget: withoutDefaults(fieldsOf(budget)).optional().describe('How much may be made at once, and in a day.'),
    canary: withoutDefaults(fieldsOf(canary))
      .required({ share: true })
      .optional()
      .describe('Made first; what fails its gate is rolled back.'),
    paused: z.boolean().optional().describe('Begin no rerun for now.'),
    rollback: z.boolean().optional().describe('Publish the earlier streams again.'),
  })
  .describe('Which media are made again by which profile, and within what budget.');
/** `spec` of a MediaRollout. */
export type MediaRolloutSpec = Readonly<Record<string, unknown>>;

const statusSchema = z
  .strictObject({
    observedGeneration: z.int().min(0).optional().describe('The generation of the spec that this status answers.'),
    phase: z.enum(rolloutStatuses).optional().describe('How it stands, in one word.'),
    ...itemCountsSchema.partial().shape,
    bytes_saved: z.int().optional().describe('How many bytes the new streams are smaller, together.'),
    score: z.number().optional().describe('The mean score of what was made.'),
    conditions: conditionsSchema.optional().describe('Accepted, Succeeded and Failed.'),
  })
  .describe('How the rollout stands.');
/** `status` of a MediaRollout. */
export type MediaRolloutStatus = z.infer<typeof statusSchema>;

/** The CustomResourceDefinition of MediaRollout. */
export const mediaRolloutResource: CustomResource = {
  kind: 'MediaRollout',
  plural: 'mediarollouts',
  shortName: 'mroll',
  category: 'media',
  description: 'Streams of many media are made again by another profile, within a budget.',
  columns: [
    { name: 'Profile', type: 'string', jsonPath: '.spec.to_profile' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Paused', type: 'boolean', jsonPath: '.spec.paused' },
    { name: 'Planned', type: 'integer', jsonPath: '.status.planned' },
    { name: 'Done', type: 'integer', jsonPath: '.status.done' },
    { name: 'Failed', type: 'integer', jsonPath: '.status.failed' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Saved', type: 'integer', jsonPath: '.status.bytes_saved', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: '.status.conditions[?(@.type=="Failed")].message', priority: 1 },
  ],
  spec: specSchema,
  status: statusSchema,
  rules: [],
};

/** A MediaRollout's request. */
export interface ReadRollout {
  readonly spec: RolloutSpec;
  readonly isPaused: boolean;
  readonly isRolledBack: boolean;
}

/** The rollout of a MediaRollout, or every fault of it, with the fields named as in the object. */
export function readMediaRollout(given: MediaRolloutSpec): ReadRollout | { readonly faults: readonly string[] } {
  const { paused = false, rollback = false, ...asked } = given;
  const { data, error } = rolloutRequestSchema.safeParse(asked, { error: explain });
  if (data !== undefined) return { spec: data, isPaused: paused === true, isRolledBack: rollback === true };
  return { faults: faultsOf(error).map(({ pointer, detail }) => `spec${pointer.replaceAll('/', '.')}: ${detail}`) };
}

/** The part of a rollout that a status shows. */
export function outlineOfRollout(rollout: Pick<Rollout, 'status' | 'canary' | 'rest'>): MediaRolloutStatus {
  const total = totalOf(rollout);
  const score = meanScore(total.scoreSum, total.scored);
  return {
    phase: rollout.status,
    ...itemCountsOf(total),
    bytes_saved: bytesSaved(total),
    ...(score === null ? {} : { score }),
  };
}
