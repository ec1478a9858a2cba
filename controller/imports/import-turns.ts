import { noTurns, type Taken, takeTurns } from '#domain/jobs/turns.ts';
import type { DueKey } from '#platform/postgres/import-store.ts';

/** An import that this process fetches. */
interface Fetched {
  readonly key: string;
  readonly weight: number;
  readonly sinceMs: number;
}

/** Whose imports a process fetches next (domain/jobs/turns.ts): they count with the time that they take. */
export class ImportTurns {
  readonly #now: () => number;
  readonly #running = new Map<string, Fetched>();
  #ended: Taken[] = [];
  #turns = noTurns;

  /** @param now milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Which keys get how many of the free slots. */
  shares(due: readonly DueKey[], free: number): ReadonlyMap<string, number> {
    const shares = new Map<string, number>();
    const of = (key: string) => shares.get(key) ?? 0;
    const running = [...this.#running.values()].map((fetched) => this.#taken(fetched));
    for (let slot = 0; slot < free; slot++) {
      const waiting = due.filter(({ key, rows }) => rows > of(key));
      const { order, turns } = takeTurns(this.#turns, { waiting, running, ended: this.#ended });
      this.#turns = turns;
      this.#ended = [];
      const [first] = order;
      if (first === undefined) break;
      shares.set(first.key, of(first.key) + 1);
      running.push({ ...first, seconds: 0 });
    }
    return shares;
  }

  begun(id: string, key: string, due: readonly DueKey[]): void {
    const weight = due.find((one) => one.key === key)?.weight ?? 1;
    this.#running.set(id, { key, weight, sinceMs: this.#now() });
  }

  ended(id: string): void {
    const fetched = this.#running.get(id);
    if (fetched !== undefined) this.#ended.push(this.#taken(fetched));
    this.#running.delete(id);
  }

  #taken({ key, weight, sinceMs }: Fetched): Taken {
    return { key, weight, seconds: (this.#now() - sinceMs) / 1_000 };
  }
}
