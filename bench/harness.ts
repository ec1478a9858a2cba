// What every benchmark is made of. A figure of one machine says little and a ratio of two figures of the same run says
// much, so each line sets ours against a peer or a floor that was measured in turn with it.

/** One line of `make bench`: a ratio of ours to a peer or floor of the same run, or a count where the aim is one. */
export interface BenchLine {
  /** `<suite>.<line>`, the name in `expected.yaml`. */
  readonly id: string;
  readonly what: string;
  readonly value: number;
  readonly unit: 'ratio' | 'calls' | 'MB' | 'ms' | 'writes' | 'objects/s';
  /** For people, with its unit; `peer` likewise. */
  readonly ours: string;
  readonly peer: string;
}

/** A suite names what it misses in one line instead of running without it. */
export interface BenchSuite {
  readonly name:
    | 'stream'
    | 'tickets'
    | 'loop'
    | 'thumb'
    | 'keys'
    | 'playback'
    | 'clients'
    | 'idle'
    | 'submissions'
    | 'rows'
    | 'images'
    | 'transcode'
    | 'kubernetes'
    | 'chunks'
    | 'turns'
    | 'deletion';
  missing(): Promise<string | null>;
  run(options: BenchOptions): Promise<readonly BenchLine[]>;
}

export interface BenchOptions {
  /** Of each contender, where the suite does not need more. */
  readonly rounds: number;
  /** Whether to leave out what takes minutes. */
  readonly isQuick: boolean;
}

interface Interleaved<Name extends string> {
  readonly rounds: number;
  /** Each gives one figure of one round. */
  readonly contenders: Readonly<Record<Name, () => Promise<number>>>;
}

/**
 * Rounds in turn, every other one backwards (ABBA), so that a noisy minute or a machine that grows warm hurts all
 * alike. Figures by contender, in the order in which they were taken.
 */
export async function interleave<Name extends string>({
  rounds,
  contenders,
}: Interleaved<Name>): Promise<Record<Name, number[]>> {
  const names = Object.keys(contenders) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) figures[name].push(await contenders[name]());
  }
  return figures;
}

/** The middle figure, or the mean of the middle two. @throws RangeError when there is none */
export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const [below, above] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  if (below === undefined || above === undefined) throw new RangeError('there are no figures');
  return (below + above) / 2;
}

/** The median, and between which figures it lies. */
export function shown(figures: readonly number[], unit: string): string {
  const [middle, least, most] = [median(figures), Math.min(...figures), Math.max(...figures)].map((figure) =>
    figure.toPrecision(3),
  );
  return `${middle} ${unit} (${least}–${most})`;
}
