import { z } from 'zod';
import type { BenchSuite } from '../harness.ts';
import { missingForCluster, runOnCluster } from '../support/on-cluster.ts';

// Fair turns on a cluster with real nodes: a key submits 2,000 images (BENCH_TURNS_IMAGES) and five long videos, another key
// 20 images a minute later. Beside it the 20 images alone, with no pod and with one that has just run, and all jobs under
// one key: first come, first served. A run is measured for at most three minutes (bench/load/turns-on-cluster.ts).

const program = 'bench/load/turns-on-cluster.ts';

const runSchema = z.object({
  /** Within which 95 of 100 of the 20 images begin, from their submission. */
  p95Ms: z.number(),
  /** Jobs that ended, from the first submission on; 0 where only the 20 ran. */
  jobsPerMinute: z.number(),
});
const figuresSchema = z.object({ alone: runSchema, again: runSchema, inTurns: runSchema, inOrder: runSchema });

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const perMinute = (jobs: number) => `${jobs.toFixed(1)}/min`;

export const turnsSuite: BenchSuite = {
  name: 'turns',
  missing: () => Promise.resolve(missingForCluster()),
  async run({ isQuick }) {
    const images = process.env['BENCH_TURNS_IMAGES'] ?? (isQuick ? '300' : '2000');
    const load = ['--images', images, ...(isQuick ? ['--videos', '2', '--later', '20'] : [])];
    const { alone, again, inTurns, inOrder } = figuresSchema.parse(await runOnCluster(program, load));
    return [
      {
        id: 'turns.wait',
        what: `p95 of the wait of 20 images beside ${images} and five videos of another key, to alone`,
        value: inTurns.p95Ms / alone.p95Ms,
        unit: 'ratio',
        ours: seconds(inTurns.p95Ms),
        peer: seconds(alone.p95Ms),
      },
      {
        id: 'turns.wait-warm',
        what: 'the same wait, to alone with a pod that runs already',
        value: inTurns.p95Ms / again.p95Ms,
        unit: 'ratio',
        ours: seconds(inTurns.p95Ms),
        peer: seconds(again.p95Ms),
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
        value: inTurns.jobsPerMinute / inOrder.jobsPerMinute,
        unit: 'ratio',
        ours: perMinute(inTurns.jobsPerMinute),
        peer: perMinute(inOrder.jobsPerMinute),
      },
    ];
  },
};
