import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { PodObject } from './objects.ts';
import { release } from './release.ts';

export interface PodWatch {
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
  const last = new Map<string, PodObject>();
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const { object } = JSON.parse(line) as { object: PodObject };
      last.set(object.metadata.uid, object);
    }
  });
  return {
    all: () => [...last.values()],
    stop: async () => {
      child.kill();
      await closed;
    },
  };
}
