import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { pods } from '#platform/kubernetes/objects.ts';

type Pod = NonNullable<(typeof pods)['example']>;

/** A test that watches the pods of its namespace. */
export interface PodWatch {
  /**
   * Ends the watch; the client may be closed then. Throws what went wrong until now, but for pods that were deleted
   * while they were played.
   */
  stop(): Promise<void>;
}

interface PodsOf {
  readonly client: KubeClient;
  readonly namespace: string;
}

/**
 * Calls `play` once for each pod that is there and has not ended, or comes up; `deleted` is aborted once the pod is to
 * be deleted.
 */
export function watchPods(
  { client, namespace }: PodsOf,
  play: (pod: Pod, deleted: AbortSignal) => Promise<unknown>,
): PodWatch {
  const stopping = new AbortController();
  const faults: unknown[] = [];
  const note = (error: unknown) => {
    if (!stopping.signal.aborted && !hasReason(error, 'NotFound', 'Conflict')) faults.push(error);
  };
  const deletions = new Map<string, AbortController>();
  const see = (pod: Pod, isDeleted: boolean) => {
    const { uid = '', deletionTimestamp } = pod.metadata ?? {};
    const deletion = deletions.get(uid) ?? new AbortController();
    const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    if (!deletions.has(uid) && !hasEnded) play(pod, deletion.signal).catch(note);
    deletions.set(uid, deletion);
    if (isDeleted || deletionTimestamp !== undefined) deletion.abort();
  };
  const watch = async () => {
    const { items, metadata } = await client.list(pods, { namespace });
    for (const pod of items) see(pod, false);
    const { resourceVersion = '' } = metadata;
    const selection = { namespace, resourceVersion, timeoutSeconds: 3_600, signal: stopping.signal };
    for await (const { type, object } of client.watch(pods, selection))
      if (type !== 'BOOKMARK') see(object, type === 'DELETED');
  };
  const watching = watch().catch(note);
  return {
    async stop() {
      stopping.abort();
      await watching;
      if (faults.length > 0) throw new AggregateError(faults, 'the pods of the namespace could not be played');
    },
  };
}
