import type { KubeClient } from '#platform/kubernetes/client.ts';
import { nodes, type ObjectMeta } from '#platform/kubernetes/objects.ts';
import { Reflector } from '#platform/kubernetes/reflector.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

type Node = NonNullable<(typeof nodes)['example']>;

/** A node, with the reason why it is not ready; null while it is. */
export interface NodeSnapshot {
  metadata: ObjectMeta;
  readonly unreadyBecause: string | null;
}

/**
 * Which nodes do not answer: a pod's own status says nothing about that until the pod is evicted. The controller works
 * without the right to read nodes, so nothing waits for this copy.
 */
export class Nodes {
  readonly #reflector: Reflector<Node, NodeSnapshot>;

  /** `onChange` is called when a node stops answering, answers again, or is deleted. */
  constructor(options: { client: KubeClient; log: Logger; onChange: (name: string) => void }) {
    const { client, log, onChange } = options;
    const changed = ({ metadata }: NodeSnapshot) => onChange(metadata.name ?? '');
    this.#reflector = new Reflector({
      client,
      log,
      resource: nodes,
      trim: trimNode,
      pageSize: 100,
      handlers: {
        added: (node) => node.unreadyBecause !== null && changed(node),
        updated: (node, before) => node.unreadyBecause !== before.unreadyBecause && changed(node),
        deleted: changed,
      },
    });
  }

  start(): Promise<void> {
    return this.#reflector.start();
  }

  stop(): Promise<void> {
    return this.#reflector.stop();
  }

  /** The node of this name if it is known and not ready. */
  unready(name: string | undefined): NodeSnapshot | null {
    const node = name === undefined ? undefined : this.#reflector.get(undefined, name);
    return node === undefined || node.unreadyBecause === null ? null : node;
  }
}

function trimNode({ metadata = {}, status }: Node): NodeSnapshot {
  const { name, uid, resourceVersion } = metadata;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const because = ready?.message ?? ready?.reason ?? 'It has reported no state.';
  return {
    metadata: Object.fromEntries(Object.entries({ name, uid, resourceVersion }).filter(([, value]) => value)),
    unreadyBecause: ready?.status === 'True' ? null : because,
  };
}
