import { z } from 'zod';
import type { BenchSuite } from '../harness.ts';
import { missingForCluster, runOnCluster } from '../support/on-cluster.ts';

// Fair turns on a cluster with real nodes: a key submits 2,000 images and five long videos, another key 20 images a
// minute later. Beside it the 20 images alone, and all jobs under one key: first come, first served. The images and
// videos are small, so that a small machine has done them within minutes (bench/load/turns-on-cluster.ts).

const program = 'bench/load/turns-on-cluster.ts';

const runSchema = z.object({
  /** Within which 95 of 100 of the 20 images begin, from their submission. */
  p95Ms: z.number(),
  /** From the first submission to the end of the last job; 0 where only the 20 ran. */
  totalSec: z.number(),
});
const figuresSchema = z.object({ alone: runSchema, inTurns: runSchema, inOrder: runSchema });

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

export const turnsSuite: BenchSuite = {
  name: 'turns',
  missing: () => Promise.resolve(missingForCluster()),
  async run({ isQuick }) {
    const load = isQuick ? ['--images', '300', '--videos', '2', '--later', '20'] : [];
    const { alone, inTurns, inOrder } = figuresSchema.parse(await runOnCluster(program, load));
    return [
      {
        id: 'turns.wait',
        what: 'p95 of the wait of 20 images beside 2,000 and five videos of another key, to alone',
        value: inTurns.p95Ms / alone.p95Ms,
        unit: 'ratio',
        ours: seconds(inTurns.p95Ms),
        peer: seconds(alone.p95Ms),
      },
      {
        id: 'turns.wait-in-order',
        what: 'the same wait, first come, first served, to in turns',
        value: inOrder.p95Ms / inTurns.p95Ms,
        unit: 'ratio',
        ours: seconds(inOrder.p95Ms),
        peer: seconds(inTurns.p95Ms),
      },
      {
        id: 'turns.throughput',
        what: 'all jobs in turns, to first come, first served',
        value: inOrder.totalSec / inTurns.totalSec,
        unit: 'ratio',
        ours: seconds(inTurns.totalSec * 1000),
        peer: seconds(inOrder.totalSec * 1000),
      },
    ];
  },
};
