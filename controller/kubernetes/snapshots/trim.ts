import type { ObjectMeta } from '#platform/kubernetes/objects.ts';

// The caches hold only the fields that are read, since there may be ten thousand objects of a kind.

/** A condition of a Job or a pod. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export function trimCondition({ type, status, reason, message }: Condition): Condition {
  return { type, status, reason, message };
}

export function trimMeta(metadata: ObjectMeta = {}): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata;
  const kept = { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp };
  return {
    ...(Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)) as ObjectMeta),
    ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
    ...(metadata.annotations === undefined ? {} : { annotations: ownAnnotations(metadata.annotations) }),
  };
}

function ownAnnotations(annotations: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => name.startsWith('reelwright.dev/')));
}
