import { z } from 'zod';
import { type MediaProfiles, type NamedProfile, sizesInOrder, sourceMatchSchema } from './profiles.ts';

/** A rule of a MediaProfile. */
export const clusterRuleSchema = sourceMatchSchema
  .extend({
    priority: z
      .int()
      .min(-1000)
      .max(1000)
      .default(0)
      .describe('Of all rules that fit a source, one with the highest priority decides.'),
  })
  .refine(...sizesInOrder);

/** A profile that the cluster defines by a MediaProfile, and which sources get it. */
export interface ClusterProfile {
  readonly profile: NamedProfile;
  readonly rules: readonly z.output<typeof clusterRuleSchema>[];
}

/**
 * Merges the profiles and rules of the cluster into the configuration: its profiles replace profiles of the same name,
 * and its rules come first, by priority, then in the order of `cluster`.
 */
export function withClusterProfiles(configured: MediaProfiles, cluster: readonly ClusterProfile[]): MediaProfiles {
  const rules = cluster
    .flatMap(({ profile, rules: own }) => own.map((rule) => ({ ...rule, profile: profile.name })))
    .toSorted((a, b) => b.priority - a.priority)
    .map(({ priority: _priority, ...rule }) => rule);
  const named = cluster.map(({ profile }) => [profile.name, profile] as const);
  return { byName: new Map([...configured.byName, ...named]), rules: [...rules, ...configured.rules] };
}
