import { z } from 'zod';
import { median } from '../harness.ts';

// What a video cost on a cluster, part by part, from its pods and their logs; and what another video would cost.

const seconds = z.iso.datetime().transform((time) => Date.parse(time) / 1000);
const containerSchema = z.object({
  name: z.string(),
  state: z.object({ terminated: z.object({ startedAt: seconds, finishedAt: seconds }) }),
});
const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    creationTimestamp: seconds,
    labels: z.object({ 'reelwright.dev/unit': z.enum(['split', 'chunk', 'finish']) }),
  }),
  status: z.object({
    initContainerStatuses: z.array(containerSchema).default([]),
    containerStatuses: z.array(containerSchema),
  }),
});
/** The pods of a job, as `kubectl get pods -o json` lists them once all have ended. */
export const podsSchema = z.object({ items: z.array(podSchema) });
type Pod = z.infer<typeof podSchema>;

const lineSchema = z.object({
  time: seconds,
  msg: z.string(),
  mode: z.string().optional(),
  cpu_ms: z.number().optional(),
  command: z.string().optional(),
});
type Line = z.infer<typeof lineSchema>;

/** Wall time and processor time, in seconds. */
export const workSchema = z.object({ sec: z.number(), cpuSec: z.number() });
export type Work = z.infer<typeof workSchema>;

export const chunkedRunSchema = z.object({
  /** From its submission to its end. */
  whole: workSchema,
  /** From the creation of its pod to its end. `cuts` and `audio` are within. */
  split: workSchema,
  cuts: workSchema,
  audio: workSchema,
  /** From the creation of the first pod of a chunk to the end of the last. */
  encode: workSchema,
  /** The median pod of a chunk, from its creation to its end, and its step that encodes. */
  chunk: workSchema,
  chunkProcess: workSchema,
  chunks: z.int(),
  finish: workSchema,
});
/** A video that was made on a cluster. */
export type ChunkedRun = z.infer<typeof chunkedRunSchema>;

interface RunInput {
  /** From submission to end, in seconds. */
  readonly wallSec: number;
  readonly pods: readonly Pod[];
  /** The logs of all containers of a pod, by its name. */
  readonly logs: ReadonlyMap<string, string>;
}

/** @throws Error when the log of a step does not say what it cost */
export function chunkedRunOf({ wallSec, pods, logs }: RunInput): ChunkedRun {
  const ran = pods.map((pod) => podRunOf(pod, linesOf(logs.get(pod.metadata.name) ?? '')));
  const parts = { split: partOf(ran, 'split'), encode: partOf(ran, 'chunk'), finish: partOf(ran, 'finish') };
  const ofChunks = ran.filter(({ part }) => part === 'chunk');
  const [split] = ran.filter(({ part }) => part === 'split');
  if (split === undefined) throw new Error('the video has no pod that splits');
  return {
    whole: { sec: wallSec, cpuSec: ran.reduce((sum, { cpuSec }) => sum + cpuSec, 0) },
    ...parts,
    ...withinSplit(split),
    chunk: middle(ofChunks.map(({ fromSec, toSec, cpuSec }) => ({ sec: toSec - fromSec, cpuSec }))),
    chunkProcess: middle(ofChunks.map(({ process }) => process)),
    chunks: ofChunks.length,
  };
}

function middle(of: readonly Work[]): Work {
  return { sec: median(of.map(({ sec }) => sec)), cpuSec: median(of.map(({ cpuSec }) => cpuSec)) };
}

interface PodRun {
  readonly part: Pod['metadata']['labels']['reelwright.dev/unit'];
  readonly fromSec: number;
  readonly toSec: number;
  readonly cpuSec: number;
  readonly process: Work;
  readonly lines: readonly Line[];
}

function podRunOf({ metadata, status }: Pod, lines: readonly Line[]): PodRun {
  const containers = [...status.initContainerStatuses, ...status.containerStatuses];
  const cpu = new Map(
    lines.flatMap(({ msg, mode = '', cpu_ms: ms }) => (msg === 'runner ended' && ms !== undefined ? [[mode, ms]] : [])),
  );
  const missing = containers.filter(({ name }) => !cpu.has(name));
  if (missing.length > 0) throw new Error(`${metadata.name}: no processor time of ${missing[0]?.name}`);
  const process = containers.find(({ name }) => name === 'process')?.state.terminated;
  return {
    part: metadata.labels['reelwright.dev/unit'],
    fromSec: metadata.creationTimestamp,
    toSec: Math.max(...containers.map(({ state }) => state.terminated.finishedAt)),
    cpuSec: [...cpu.values()].reduce((sum, ms) => sum + ms / 1000, 0),
    process: {
      sec: process === undefined ? 0 : process.finishedAt - process.startedAt,
      cpuSec: (cpu.get('process') ?? 0) / 1000,
    },
    lines,
  };
}

function partOf(ran: readonly PodRun[], part: PodRun['part']): Work {
  const pods = ran.filter((pod) => pod.part === part);
  const [from, to] = [pods.map(({ fromSec }) => fromSec), pods.map(({ toSec }) => toSec)];
  return { sec: Math.max(...to) - Math.min(...from), cpuSec: pods.reduce((sum, { cpuSec }) => sum + cpuSec, 0) };
}

const isCut = ({ command = '' }: Line) => command.includes('.nut');

/** How long `split` cuts, and how long it encodes and measures audio. It uses all that it may meanwhile. */
function withinSplit({ lines, process }: PodRun): Pick<ChunkedRun, 'cuts' | 'audio'> {
  const started = lines.filter(({ msg }) => msg === 'tool started');
  const first = started.find(isCut)?.time ?? 0;
  const last = started.findLastIndex(isCut);
  const audioFrom = started[last + 1]?.time ?? 0;
  const audioTo = started.slice(last + 1).find(({ command = '' }) => command.includes('-version'))?.time ?? audioFrom;
  const work = (sec: number): Work => ({ sec, cpuSec: process.cpuSec * (sec / Math.max(process.sec, 1)) });
  return { cuts: work(audioFrom - first), audio: work(audioTo - audioFrom) };
}

function linesOf(log: string): Line[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .flatMap((line) => {
      const read = lineSchema.safeParse(JSON.parse(line));
      return read.success ? [read.data] : [];
    });
}

/** A video beside the one that was measured. */
export interface OtherSize {
  readonly chunks: number;
  /** Its length, and the work of encoding one of its chunks, to those that were measured. */
  readonly lengthRatio: number;
  readonly chunkRatio: number;
}

/** The cost of a video of another size with `pods`: what grows with its size is scaled, the rest stays. */
export function modelOf(run: ChunkedRun, { chunks, lengthRatio, chunkRatio }: OtherSize, pods: number): Work {
  const cost = (of: keyof Work, rounds: number) => {
    const { split, cuts, audio, chunk, chunkProcess, finish } = run;
    const fixed = split[of] - cuts[of] - audio[of];
    const splitting = fixed + cuts[of] * (chunks / run.chunks) + audio[of] * lengthRatio;
    return splitting + rounds * (chunk[of] - chunkProcess[of] + chunkProcess[of] * chunkRatio) + finish[of];
  };
  return { sec: cost('sec', Math.ceil(chunks / pods)), cpuSec: cost('cpuSec', chunks) };
}
