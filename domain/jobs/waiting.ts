import { z } from 'zod';

/**
 * Why a job waits.
 *
 * - `next_in_queue`: nothing is ahead of it, and nothing of its queue runs: a worker is about to take it
 * - `behind_others`, `pool_full`: other jobs come first, or it is the next and its queue has no free slot
 * - `next_attempt_later`: a failed attempt is followed by a pause
 * - `storage_outage`: the object storage does not answer, so nothing starts
 * - `media_deletion`: everything made under its hash is being deleted; it starts after that
 * - `key_quota`: a quota of its API key is used up, and the key is to wait
 * - `suspended`: its MediaJob is suspended, or Kueue has not admitted it
 * - `unschedulable`, `quota_exceeded`, `image_unavailable`: Kubernetes does not start its pod
 * - `node_lost`: the node of its pod does not answer
 * - `cannot_start`: its attempt cannot be started for another reason, which the message names
 */
const waitingCodes = [
  'next_in_queue',
  'behind_others',
  'pool_full',
  'next_attempt_later',
  'storage_outage',
  'media_deletion',
  'key_quota',
  'suspended',
  'unschedulable',
  'quota_exceeded',
  'image_unavailable',
  'node_lost',
  'cannot_start',
] as const;

export const waitingReasonSchema = z.object({
  code: z.enum(waitingCodes).describe('Why it waits, one word for programs.'),
  message: z
    .string()
    .describe('The same for people.')
    .meta({ examples: ['0/3 nodes are available: 3 Insufficient cpu.'] }),
});

/** Why an active job waits, as `GET /api/jobs/{id}` shows it. */
export type WaitingReason = Readonly<z.output<typeof waitingReasonSchema>>;
