import type { nodes, ObjectMeta } from '#platform/kubernetes/objects.ts';

/** A node as the API server has it. */
export type Node = NonNullable<(typeof nodes)['example']>;

/** A node, with the reason why it is not ready; null while it is. */
export interface NodeSnapshot {
  metadata: ObjectMeta;
  readonly unreadyBecause: string | null;
}

export function trimNode({ metadata = {}, status }: Node): NodeSnapshot {
  const { name, uid, resourceVersion } = metadata;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const because = ready?.message ?? ready?.reason ?? 'It has reported no state.';
  return {
    metadata: Object.fromEntries(Object.entries({ name, uid, resourceVersion }).filter(([, value]) => value)),
    unreadyBecause: ready?.status === 'True' ? null : because,
  };
}
