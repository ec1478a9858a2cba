import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { PodObject } from './objects.ts';
import { release } from './release.ts';

export interface PodWatch {
  /** The largest number of pods that ran at once. */
  readonly most: () => number;
  /** Every node that ran one of them. */
  readonly nodes: () => ReadonlySet<string>;
  /** The last state of each, of deleted ones too. */
  readonly all: () => readonly PodObject[];
  readonly stop: () => Promise<void>;
}

/** Watches every change of a pool's runner pods, so that none is missed as it would be by polling. */
export function watchPods(pool: string): PodWatch {
  const args = ['-n', release.runners, 'get', 'pods', '-l', `reelwright.dev/pool=${pool}`];
  const child = spawn('kubectl', [...args, '--watch', '--output-watch-events', '-o', 'json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const closed = once(child, 'close');
  const running = new Set<string>();
  const nodes = new Set<string>();
  const last = new Map<string, PodObject>();
  let most = 0;
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as { type: string; object: PodObject };
      last.set(object.metadata.uid, object);
      if (object.spec.nodeName !== undefined) nodes.add(object.spec.nodeName);
      if (type === 'DELETED' || hasEnded(object)) running.delete(object.metadata.uid);
      else running.add(object.metadata.uid);
      most = Math.max(most, running.size);
    }
  });
  return {
    most: () => most,
    nodes: () => nodes,
    all: () => [...last.values()],
    stop: async () => {
      child.kill();
      await closed;
    },
  };
}

function hasEnded({ status }: PodObject): boolean {
  return (
    ['Succeeded', 'Failed'].includes(status.phase) ||
    (status.containerStatuses ?? []).some(({ state }) => state?.terminated !== undefined)
  );
}
