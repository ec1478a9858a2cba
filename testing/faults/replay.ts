import { Checker } from './invariants.ts';
import { type Fault, faults, hasFired, isSame, pointsOf, type WritePoint } from './plan.ts';
import { probe } from './prober.ts';
import { idle, type Scenario } from './scenarios.ts';
import type { World } from './world.ts';

/** The outcome of replaying a scenario with a fault at each of its writes. */
export interface ReplayResult {
  readonly points: number;
  readonly runs: number;
  /** Faults whose point did not come up again, since the order of concurrent writes differs from run to run. */
  readonly missed: number;
  readonly violations: readonly string[];
  /** The runs, and how long each took. */
  readonly lines: readonly string[];
}

/** Says of each planned run of a scenario, by its number and how many there are, whether it is made. */
type IsChosen = (index: number, count: number) => boolean;

interface Planned {
  readonly point: WritePoint;
  readonly fault: Fault;
}

/**
 * Runs a scenario once undisturbed, which lists its writes, and then once for each fault at the first and the last of
 * each name.
 */
export class Replay {
  readonly #world: World;
  readonly #checker: Checker;
  /** The writes that timers make, or would make, without a caller. */
  #timers: readonly WritePoint[] = [];
  /** The findings of the checker about a service without jobs. */
  #calm: readonly string[] = [];
  #run = 0;
  readonly #lines: string[] = [];

  constructor(world: World) {
    this.#world = world;
    this.#checker = new Checker(world);
  }

  async scenario(scenario: Scenario, isChosen: IsChosen): Promise<ReplayResult> {
    const isIdle = scenario === idle;
    const calm = isIdle ? this.#calm : await this.#once(scenario, null);
    const points = isIdle ? firstAndLast(this.#timers) : this.#chosenPoints();
    const all = points.flatMap((point) => faultsAt(point).map((fault) => ({ point, fault })));
    const planned = all.filter((_, index) => isChosen(index, all.length));
    const violations = calm.map((line) => `without a fault: ${line}`);
    let missed = 0;
    for (const one of planned) {
      const found = await this.#once(scenario, one);
      if (!hasFired(this.#world.folder, this.#run)) missed += 1;
      violations.push(...found.map((line) => `${plannedText(one)}: ${line}`));
    }
    return { points: points.length, runs: planned.length + 1, missed, violations, lines: this.#lines.splice(0) };
  }

  /** The writes of a service without jobs: only the scenario `no job` is disturbed at them. */
  async learnTimers(): Promise<void> {
    this.#calm = await this.#once(idle, null);
    this.#timers = pointsOf(this.#world.folder, this.#run);
  }

  /** The writes of the last run that no timer made. */
  #chosenPoints(): WritePoint[] {
    const points = pointsOf(this.#world.folder, this.#run);
    return firstAndLast(points).filter((point) => !this.#timers.some((other) => isSame(point, other)));
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
      this.#lines.push(`${fault === null ? 'calm' : plannedText(fault)}: ${Date.now() - startedAt} ms`);
    }
  }
}

function plannedText({ point, fault }: Planned): string {
  return `${fault} at ${point.role} ${point.kind} "${point.name}" ${point.nth}`;
}

/** The first and the last write of each name. */
function firstAndLast(points: readonly WritePoint[]): WritePoint[] {
  const counts = Map.groupBy(points, ({ role, kind, name }) => `${role} ${kind} ${name}`);
  return points.filter(
    ({ role, kind, name, nth }) => nth === 1 || nth === counts.get(`${role} ${kind} ${name}`)?.length,
  );
}

/** A receiver of webhooks and a queue know no conflicts, nor does an object that is not there yet. */
function faultsAt({ kind, name }: WritePoint): readonly Fault[] {
  const knowsNone = kind === 'ticket' || kind === 'webhook' || (kind === 'kubernetes' && name.startsWith('create'));
  return knowsNone ? faults.filter((fault) => fault !== 'conflict') : faults;
}
