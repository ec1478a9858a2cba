import { KnownProblem } from '#domain/errors.ts';

// What actors asked for, and what they were answered, on a clock that ticks at each beginning and each answer: of two
// deeds, one came before the other only if it was answered before the other began.

export interface Facts {
  /** A job of the hash was submitted, retried or made again. */
  readonly accept: {
    readonly jobId: string;
    readonly isNew: boolean;
    /** The job that it makes again. */
    readonly rerunOf: string | null;
    /** The job whose stream alone it may replace. */
    readonly replaces: string | null;
  };
  /** A stream became the one that is played; `undoes`: the rerun that a rollback undid. */
  readonly publish: { readonly jobId: string; readonly undoes: string | null };
  readonly delete: { readonly isNew: boolean; readonly isByTime: boolean; readonly purgeInMs: number | null };
  /** Milliseconds of the epoch. */
  readonly expire: { readonly at: number | null };
  readonly hold: { readonly isHeld: boolean };
  /** `byJob`: said by a submission, whose job may have ended before. */
  readonly describe: { readonly title: string; readonly byJob: boolean };
  readonly cancel: { readonly jobId: string };
  /** An attempt ended; null: it was not current any more. */
  readonly end: { readonly jobId: string; readonly status: string | null };
}

export type DeedKind = keyof Facts;

/** `done`: answered. `refused`: nothing happened. `unknown`: it failed, and may have happened. */
type Outcome = 'under way' | 'done' | 'refused' | 'unknown';

export interface Deed<Kind extends DeedKind = DeedKind> {
  readonly kind: Kind;
  /** For people. */
  readonly what: string;
  readonly hash: string;
  readonly begunAt: number;
  /** Infinity until it is answered, and where it is not known what became of it. */
  readonly endedAt: number;
  readonly outcome: Outcome;
  /** Null unless it is done. */
  readonly facts: Facts[Kind] | null;
  readonly answer: string;
}

export class History {
  readonly #deeds: Deed[] = [];
  #tick = 0;

  /** The time now, which comes after all that was noted before. */
  now(): number {
    return ++this.#tick;
  }

  /**
   * Notes a deed. `factsOf` says what was answered; null for an answer that changed nothing.
   *
   * @throws what `work` throws
   */
  async note<Kind extends DeedKind, Result>(
    { kind, hash, what }: { readonly kind: Kind; readonly hash: string; readonly what: string },
    work: () => Promise<Result>,
    factsOf: (result: Result) => Facts[Kind] | null | Promise<Facts[Kind] | null>,
  ): Promise<Result> {
    const at = this.#deeds.length;
    const begun = { kind, hash, what, begunAt: this.now() };
    this.#deeds.push({ ...begun, endedAt: Infinity, outcome: 'under way', facts: null, answer: '' });
    const end = (outcome: Outcome, answer: string, facts: Facts[Kind] | null = null) => {
      const endedAt = outcome === 'unknown' ? Infinity : this.now();
      this.#deeds[at] = { ...begun, endedAt, outcome, facts, answer };
    };
    let result: Result;
    try {
      result = await work();
    } catch (error) {
      const isRefused = error instanceof KnownProblem && error.code !== 'internal_error';
      end(isRefused ? 'refused' : 'unknown', error instanceof Error ? error.message : String(error));
      throw error;
    }
    // The facts that are looked up later are part of no answer.
    end('done', '');
    const noted = this.#deeds[at] as Deed;
    const facts = await factsOf(result);
    const outcome = facts === null ? 'refused' : 'done';
    this.#deeds[at] = { ...noted, outcome, facts, answer: facts === null ? 'nothing' : JSON.stringify(facts) };
    return result;
  }

  /** Deeds of a kind that were done, in the order in which they began. */
  of<Kind extends DeedKind>(hash: string, kind: Kind): (Deed<Kind> & { readonly facts: Facts[Kind] })[] {
    return this.all(hash, kind).filter((deed) => deed.facts !== null) as never;
  }

  /** The same with those that may have been done. */
  all<Kind extends DeedKind>(hash: string, kind: Kind): Deed<Kind>[] {
    return this.#deeds.filter(
      (deed): deed is Deed<Kind> => deed.hash === hash && deed.kind === kind && deed.outcome !== 'refused',
    );
  }

  /** Everything about a hash, a line each. */
  linesOf(hash: string): string[] {
    return this.#deeds
      .filter((deed) => deed.hash === hash)
      .map(
        ({ begunAt, endedAt, kind, what, outcome, answer }) =>
          `${begunAt}–${endedAt === Infinity ? '' : endedAt} ${kind} ${what}: ${outcome} ${answer}`,
      );
  }

  /** How many deeds there were of each kind and outcome, and what failed otherwise than by a refusal. */
  counts(): string[] {
    return this.#deeds.map(({ kind, outcome, answer }) =>
      outcome === 'unknown' ? `${kind} failed: ${answer}` : `${kind} ${outcome}`,
    );
  }
}
