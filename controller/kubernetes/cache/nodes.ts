import type { KubeClient } from '#platform/kubernetes/client.ts';
import { nodes } from '#platform/kubernetes/objects.ts';
import { Reflector } from '#platform/kubernetes/reflector.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { type Node, type NodeSnapshot, trimNode } from '../snapshots/node.ts';

/**
 * Which nodes do not answer, which a pod's status does not show until its eviction. The controller may lack the right
 * to read nodes, so nothing waits for this copy.
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
