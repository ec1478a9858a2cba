import type { CustomResource } from './custom-resource.ts';
import { mediaJobResource } from './media-job.ts';
import { mediaProfileResource } from './media-profile.ts';
import { mediaRolloutResource } from './media-rollout.ts';
import { runnerPoolResource } from './runner-pool.ts';

/** Every kind that `crds/` defines. */
export const customResources: readonly CustomResource[] = [
  mediaJobResource,
  mediaProfileResource,
  mediaRolloutResource,
  runnerPoolResource,
];
