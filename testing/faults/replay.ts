import { Checker } from './invariants.ts';
import { type Fault, faults, hasFired, isSame, pointsOf, type WritePoint } from './plan.ts';
import { probe } from './prober.ts';
import { idle, type Scenario } from './scenarios.ts';
import type { World } from './world.ts';

/** What came of replaying a scenario with a fault at each of its writes. */
export interface ReplayResult {
  readonly points: number;
  readonly runs: number;
  /** Faults whose point did not come up again, since the order of concurrent writes differs from run to run. */
  readonly missed: number;
  readonly violations: readonly string[];
}

interface Planned {
  readonly point: WritePoint;
  readonly fault: Fault;
}

/**
 * Runs a scenario once undisturbed, which lists its writes, and then once for each fault at the first and the last of
 * each name.
 *
 * @param isChosen which of the planned runs to make, by their number
 */
export class Replay {
  readonly #world: World;
  readonly #checker: Checker;
  /** What is written, or would be, by timers alone. */
  #timers: readonly WritePoint[] = [];
  #run = 0;

  constructor(world: World) {
    this.#world = world;
    this.#checker = new Checker(world);
  }

  async scenario(scenario: Scenario, isChosen: (index: number) => boolean): Promise<ReplayResult> {
    const calm = await this.#once(scenario, null);
    const timers = scenario === idle ? [] : this.#timers;
    const points = chosenPoints(pointsOf(this.#world.folder, this.#run), timers);
    const planned = points
      .flatMap((point) => faultsOf(point).map((fault) => ({ point, fault })))
      .filter((_, index) => isChosen(index));
    const violations = calm.map((line) => `without a fault: ${line}`);
    let missed = 0;
    for (const one of planned) {
      const found = await this.#once(scenario, one);
      if (!hasFired(this.#world.folder, this.#run)) missed += 1;
      violations.push(...found.map((line) => `${textOf(one)}: ${line}`));
    }
    return { points: points.length, runs: planned.length + 1, missed, violations };
  }

  /** The writes of a service without jobs: only the scenario `no job` is disturbed at them. */
  async learnTimers(): Promise<void> {
    await this.#once(idle, null);
    this.#timers = pointsOf(this.#world.folder, this.#run);
  }

  async #once(scenario: Scenario, fault: Planned | null): Promise<string[]> {
    this.#run += 1;
    this.#world.begin({ run: this.#run, fault });
    const startedAt = Date.now();
    const endProbe = probe(this.#world);
    try {
      const ids = await scenario(this.#world);
      await this.#world.settle();
      return [...(await endProbe()), ...(await this.#checker.check(ids))];
    } catch (error) {
      return [`I2: not settled: ${(error as Error).message}`];
    } finally {
      await endProbe();
      process.stdout.write(`  ${fault === null ? 'calm' : textOf(fault)}: ${Date.now() - startedAt} ms\n`);
    }
  }
}

function textOf({ point, fault }: Planned): string {
  return `${fault} at ${point.role} ${point.kind} "${point.name}" ${point.nth}`;
}

/** The first and the last write of each name, but of `timers`. */
function chosenPoints(points: readonly WritePoint[], timers: readonly WritePoint[]): WritePoint[] {
  return points.filter((point) => {
    const last = points.filter((other) => isSame(point, other)).length;
    return (point.nth === 1 || point.nth === last) && !timers.some((other) => isSame(point, other));
  });
}

/** A receiver of webhooks and a queue know no conflicts, nor does an object that is not there yet. */
function faultsOf({ kind, name }: WritePoint): readonly Fault[] {
  const knowsNone = kind === 'ticket' || kind === 'webhook' || (kind === 'kubernetes' && name.startsWith('create'));
  return knowsNone ? faults.filter((fault) => fault !== 'conflict') : faults;
}
