import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { PodObject } from './objects.ts';
import { release } from './release.ts';

export interface PodWatch {
  /** The most pods that were at work at once. */
  readonly most: () => number;
  /** Every node that one of them was on. */
  readonly nodes: () => ReadonlySet<string>;
  readonly stop: () => Promise<void>;
}

/** Every change of a pool's runner pods, in the API server's order: nothing between two looks is missed. */
export function watchPods(pool: string): PodWatch {
  const args = ['-n', release.runners, 'get', 'pods', '-l', `reelwright.dev/pool=${pool}`];
  const child = spawn('kubectl', [...args, '--watch', '--output-watch-events', '-o', 'json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const closed = once(child, 'close');
  const atWork = new Set<string>();
  const nodes = new Set<string>();
  let most = 0;
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as { type: string; object: PodObject };
      if (object.spec.nodeName !== undefined) nodes.add(object.spec.nodeName);
      if (type === 'DELETED' || isOver(object)) atWork.delete(object.metadata.uid);
      else atWork.add(object.metadata.uid);
      most = Math.max(most, atWork.size);
    }
  });
  return {
    most: () => most,
    nodes: () => nodes,
    stop: async () => {
      child.kill();
      await closed;
    },
  };
}

function isOver({ status }: PodObject): boolean {
  return (
    ['Succeeded', 'Failed'].includes(status.phase) ||
    (status.containerStatuses ?? []).some(({ state }) => state?.terminated !== undefined)
  );
}
