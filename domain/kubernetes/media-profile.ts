import { z } from 'zod';
import { explain, faultsOf } from '../jobs/faults.ts';
import { type ClusterProfile, clusterRuleSchema } from '../media/cluster-profiles.ts';
import {
  digestOf,
  documentSchema,
  namedProfileSchema,
  type NamedProfile,
  videoCodecs,
  writtenSchema,
} from '../media/profiles.ts';
import { conditionsSchema, type CustomResource, withoutDefaults } from './custom-resource.ts';

// A MediaProfile is an encoding profile as a Kubernetes object: the fields of a profile in `MEDIA_PROFILES`, and the
// rules by which sources get it. The API server checks the bounds in the schema; the controller checks everything again
// and reports in `Valid` what a schema cannot express.

const rulesSchema = z.array(clusterRuleSchema).max(32);

/** `spec` of a MediaProfile; fields that are left out have the values of `default`. */
export type MediaProfileSpec = Readonly<Record<string, unknown>>;

const specSchema = withoutDefaults(documentSchema)
  .extend({
    rules: rulesSchema
      .optional()
      .describe(
        'Which sources get the profile; of all rules that fit, one with the highest priority decides. None: only MediaJobs that name it.',
      ),
  })
  .describe('How streams are made. What is left out is as in the profile `default`.');

const statusSchema = z
  .strictObject({
    observedGeneration: z.int().min(0).optional().describe('The generation of the spec that this status answers.'),
    digest: z
      .string()
      .max(64)
      .optional()
      .describe('SHA-256 of all that the version in use decides: another digest, other streams.'),
    rungs: z.int().min(0).optional().describe('How many rungs its ladder has.'),
    codecs: z.string().max(64).optional().describe('The codecs of its rungs.'),
    conditions: conditionsSchema
      .optional()
      .describe('Valid, and Ready, which says the same to tools that know no other.'),
  })
  .describe('The version in use, and what is wrong with the written one.');
/** `status` of a MediaProfile. */
export type MediaProfileStatus = z.infer<typeof statusSchema>;

/** The CustomResourceDefinition of MediaProfile. */
export const mediaProfileResource: CustomResource = {
  kind: 'MediaProfile',
  plural: 'mediaprofiles',
  shortName: 'mprof',
  category: 'media',
  description: 'An encoding profile: how streams are made, and of which sources.',
  columns: [
    { name: 'Rungs', type: 'integer', jsonPath: '.status.rungs' },
    { name: 'Codecs', type: 'string', jsonPath: '.status.codecs' },
    { name: 'Valid', type: 'string', jsonPath: '.status.conditions[?(@.type=="Valid")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Digest', type: 'string', jsonPath: '.status.digest', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: '.status.conditions[?(@.type=="Valid")].message', priority: 1 },
  ],
  spec: specSchema,
  status: statusSchema,
  rules: [],
};

/** The profile of a MediaProfile, or every fault of it, with the fields named as in the object. */
export function readMediaProfile(
  name: string,
  spec: MediaProfileSpec,
): { readonly entry: ClusterProfile } | { readonly faults: readonly string[] } {
  const { rules: writtenRules, ...document } = spec;
  const faults: string[] = [];
  // Each by itself: a rule about several fields would not be tried where another part is at fault.
  const read = <T>(schema: z.ZodType<T>, value: unknown, under: readonly string[]): T | undefined => {
    const { data, error } = schema.safeParse(value, { error: explain });
    if (error)
      faults.push(...faultsOf(error, { under }).map(({ pointer, detail }) => `${fieldOf(pointer)}: ${detail}`));
    return data;
  };
  read(namedProfileSchema.shape.name, name, ['name']);
  const profile = read(writtenSchema, document, []);
  const rules = read(rulesSchema.default([]), writtenRules, ['rules']);
  if (faults.length > 0 || profile === undefined || rules === undefined) return { faults };
  return { entry: { profile: { ...profile, name }, rules } };
}

/** The field that a JSON Pointer means, as kubectl names fields. */
function fieldOf(pointer: string): string {
  return pointer === '/name' ? 'metadata.name' : `spec${pointer.replaceAll('/', '.')}`;
}

/** The part of a profile that a status shows. */
export function outlineOf(profile: NamedProfile): Pick<MediaProfileStatus, 'digest' | 'rungs' | 'codecs'> {
  const used = new Set(profile.ladder.map(({ codec = 'h264' }) => codec));
  return {
    digest: digestOf(profile),
    rungs: profile.ladder.length,
    codecs: videoCodecs.filter((codec) => used.has(codec)).join(','),
  };
}
