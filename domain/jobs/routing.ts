/** The two queues, and the names of the pools that serve them (C10.14). */
export const queueNames = ['default', 'video:large'] as const;
export type QueueName = (typeof queueNames)[number];

/** The name of the pool (a Kubernetes object name) that serves each queue. */
export const poolOfQueue = { default: 'default', 'video:large': 'video-large' } as const satisfies Record<
  QueueName,
  string
>;

/**
 * The queue of a source of `sizeBytes`: measured size decides, never a caller's hint (C11.22).
 *
 * @param largeThresholdBytes the size at which a video is large; the threshold itself is large
 */
export function queueOfSize(sizeBytes: number, largeThresholdBytes: number): QueueName {
  return sizeBytes >= largeThresholdBytes ? 'video:large' : 'default';
}
