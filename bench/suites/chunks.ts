import { z } from 'zod';
import { defaultEncoding } from '#domain/media/encoding-profile.ts';
import { planLadder } from '#domain/media/ladder.ts';
import type { BenchLine, BenchSuite } from '../harness.ts';
import { type ChunkedRun, chunkedRunSchema, modelOf, type Work } from '../support/chunked-run.ts';
import { missingForCluster, runOnCluster } from '../support/on-cluster.ts';

// A video in chunks on a cluster with real nodes: the same video by eight pods at once and by one at a time. Each pod
// is held to a fifth of a processor, so that a small machine plays eight. scripts/e2e finds the cluster and loads the
// images; the chart is installed and removed (bench/load/chunks-on-cluster.ts).

interface Measurement {
  /** Before the names of its lines. */
  readonly prefix: string;
  readonly pods: number;
  readonly videoSec: number;
  readonly preset: string;
}

const full: Measurement = { prefix: '', pods: 8, videoSec: 120, preset: 'fast' };
/** Shows in a few minutes that the parts work; its ratio of times has no aim. */
const brief: Measurement = { prefix: 'brief-', pods: 4, videoSec: 40, preset: 'superfast' };
const cpu = '200m';
const chunkSec = 6;
const program = 'bench/load/chunks-on-cluster.ts';

export const chunksSuite: BenchSuite = {
  name: 'chunks',
  missing: () => Promise.resolve(missingForCluster()),
  async run({ isQuick }) {
    const measurement = isQuick ? brief : full;
    const { one, many } = await measure(measurement);
    const lines = [
      line('wall', { measurement, what: 'time', seconds: [many.whole.sec, one.whole.sec] }),
      line('cpu', { measurement, what: 'processor time of all pods', seconds: [many.whole.cpuSec, one.whole.cpuSec] }),
      ...partLines(many, measurement),
      ...modelLines(one, many, measurement),
    ];
    return lines.map((each) => ({ ...each, id: `chunks.${measurement.prefix}${each.id}` }));
  },
};

const figuresSchema = z.object({ one: chunkedRunSchema, many: chunkedRunSchema });

async function measure({ pods, videoSec, preset }: Measurement): Promise<z.infer<typeof figuresSchema>> {
  const options = ['--pods', pods, '--cpu', cpu, '--seconds', videoSec, '--preset', preset].map(String);
  return figuresSchema.parse(await runOnCluster(program, options));
}

interface Compared {
  readonly measurement: Measurement;
  readonly what: string;
  /** By many pods, and by one. */
  readonly seconds: readonly [number, number];
}

function line(id: string, { measurement, what, seconds: [many, one] }: Compared): BenchLine {
  const { videoSec, pods } = measurement;
  return {
    id,
    what: `${videoSec} s of 720p in chunks of ${chunkSec} s by ${pods} pods of 0.2 CPU: ${what}, to one pod`,
    value: many / one,
    unit: 'ratio',
    ours: `${many.toFixed(1)} s`,
    peer: `${one.toFixed(1)} s`,
  };
}

/** What the time of the video by many pods is made of. */
function partLines(run: ChunkedRun, { pods }: Measurement): BenchLine[] {
  const { whole, split, cuts, audio, encode, chunk, finish, chunks } = run;
  const between = { sec: whole.sec - split.sec - encode.sec - finish.sec, cpuSec: 0 };
  const parts: readonly (readonly [string, string, Work])[] = [
    ['split', 'its pod that splits', split],
    ['cuts', 'of that the cuts', cuts],
    ['audio', 'of which the audio', audio],
    ['encode', `its ${chunks} chunks`, encode],
    ['chunk', 'the median pod of a chunk', chunk],
    ['finish', 'its pod that publishes', finish],
    ['between', 'between its pods', between],
  ];
  return parts.map(([id, what, { sec, cpuSec }]) => ({
    id,
    what: `${what}: share of the time by ${pods} pods`,
    value: sec / whole.sec,
    unit: 'ratio',
    ours: `${sec.toFixed(1)} s, ${cpuSec.toFixed(1)} s of processor time`,
    peer: '',
  }));
}

const pixels = (width: number, height: number) =>
  planLadder({ width, height, hdr: 'none' }, defaultEncoding, ['h264']).reduce(
    (sum, rung) => sum + rung.width * rung.height,
    0,
  );

/** Two hours of 1080p at the default length of a chunk, from the parts that were measured. */
function modelLines(one: ChunkedRun, many: ChunkedRun, { videoSec }: Measurement): BenchLine[] {
  const [lengthSec, defaultChunkSec] = [7_200, 60];
  const size = {
    chunks: lengthSec / defaultChunkSec,
    lengthRatio: lengthSec / videoSec,
    chunkRatio: (defaultChunkSec / chunkSec) * (pixels(1920, 1080) / pixels(1280, 720)),
  };
  const alone = modelOf(one, size, 1);
  return [8, 64].map((pods) => {
    const model = modelOf(many, size, pods);
    return {
      id: `model-${pods}`,
      what: `by these figures, 2 h of 1080p in chunks of 60 s by ${pods} such pods: time, to one pod`,
      value: model.sec / alone.sec,
      unit: 'ratio',
      ours: shownWork(model),
      peer: shownWork(alone),
    };
  });
}

function shownWork({ sec, cpuSec }: Work): string {
  return `${(sec / 3600).toFixed(2)} h, ${(cpuSec / 3600).toFixed(2)} h of processor time`;
}
