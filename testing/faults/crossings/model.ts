import type { Deed, History } from './history.ts';

// What must hold of a media after everything that was asked for has been answered and has ended, by the order of
// requests and answers alone (docs/reference/invariants.md, I35 to I38). Of two requests at the same time either may
// have come first, so a violation is only what no order of them allows.

export interface FoundJob {
  readonly id: string;
  readonly status: string;
  /** Whether its stream is there. */
  readonly hasStream: boolean;
}

/** The state of a media that is found once nothing is under way. */
export interface Found {
  readonly jobs: readonly FoundJob[];
  /** The jobs whose stream is played, by the rows; one at most. */
  readonly currentJobs: readonly string[];
  /** The job whose stream is played, by the bucket; null: none, `unknown` for a revision that no job made. */
  readonly playedJob: string | null;
  /** Whether the objects of that stream are there. */
  readonly isWhole: boolean;
  readonly hasKey: boolean;
  /** Whether its addresses answer 410. */
  readonly isDeleted: boolean;
  readonly isHeld: boolean;
  readonly expiresAt: number | null;
  readonly title: string | null;
  /** The job that answers a submission like the one whose stream is played; null where it was not asked. */
  readonly answering: string | null;
}

/** Servers of delivery learn of a deletion within this time, and then alone a CDN may ask again. */
const learntMs = 2_000;

type Accept = ReturnType<History['of']>[number] & Deed<'accept'>;

export class Model {
  readonly #history: History;
  readonly #hash: string;
  readonly #accepts: ReadonlyMap<
    string,
    { readonly deed: Deed<'accept'>; readonly facts: NonNullable<Accept['facts']> }
  >;

  constructor(history: History, hash: string) {
    this.#history = history;
    this.#hash = hash;
    const made = history.of(hash, 'accept').filter(({ facts }) => facts.isNew);
    this.#accepts = new Map(made.map((deed) => [deed.facts.jobId, { deed, facts: deed.facts }]));
  }

  /** The violations, a line each. */
  violations(found: Found): string[] {
    return [
      ...this.#played(found),
      ...this.#deleted(found),
      ...this.#changed(found),
      ...this.#described(found),
      ...this.#cancelled(found),
      ...this.#answers(found),
    ];
  }

  /** The last time at which a stream of the job may have been wanted, by requests that began before `until`. */
  #latest(jobId: string, until = Infinity): number {
    const accept = this.#accepts.get(jobId);
    const times = this.#history
      .all(this.#hash, 'publish')
      .filter((deed) => deed.begunAt < until && (deed.facts === null || deed.facts.jobId === jobId))
      .map(({ facts, endedAt }) => (facts?.undoes ? Math.min(endedAt, this.#latest(facts.undoes, endedAt)) : endedAt));
    if (accept === undefined) return Infinity;
    const { deed, facts } = accept;
    if (facts.rerunOf === null) times.push(deed.endedAt);
    else times.push(this.#latest(facts.rerunOf, Math.min(until, deed.endedAt)));
    return Math.max(...times);
  }

  /** The first time since which it must have been wanted, by requests that were answered before `until`. */
  #earliest(jobId: string, until = Infinity): number {
    const accept = this.#accepts.get(jobId);
    const times = this.#history
      .of(this.#hash, 'publish')
      .filter(({ facts, endedAt }) => endedAt < until && facts.jobId === jobId && facts.undoes === null)
      .map(({ begunAt }) => begunAt);
    if (accept === undefined) return Math.max(-Infinity, ...times);
    const { deed, facts } = accept;
    if (facts.rerunOf === null) times.push(deed.begunAt);
    else times.push(this.#earliest(facts.rerunOf, Math.min(until, deed.begunAt)));
    return Math.max(...times);
  }

  /** I35: the stream of the last accepted intent is played. */
  #played({ jobs, currentJobs, playedJob, isWhole, isDeleted }: Found): string[] {
    const streams = jobs.filter(({ hasStream }) => hasStream);
    const name = `I35: ${this.#hash}`;
    if (playedJob === null)
      return streams.length === 0 ? [] : [`${name} plays nothing, and ${streams[0]?.id} is there`];
    const violations: string[] = [];
    if (currentJobs.join() !== playedJob)
      violations.push(`${name} plays ${playedJob}, its rows say ${currentJobs.join()}`);
    if (!isWhole) violations.push(`${name} plays ${playedJob}, whose objects are not there`);
    if (isDeleted) violations.push(`${name} answers 410 although the new stream of ${playedJob} is there`);
    for (const { id } of streams) {
      if (id === playedJob || this.#accepts.get(id)?.facts.replaces !== null) continue;
      if (this.#latest(playedJob) < this.#earliest(id))
        violations.push(`${name} plays ${playedJob}, but ${id} was asked for later and has completed`);
    }
    return [...violations, ...this.#unseen(playedJob)];
  }

  /** I35: a rollout replaces the stream that it has seen alone, not one that was made again by hand meanwhile. */
  #unseen(playedJob: string): string[] {
    const rollout = this.#accepts.get(playedJob)?.facts;
    const end = this.#endOf(playedJob);
    if (rollout === undefined || rollout.replaces === null || end === undefined) return [];
    const { replaces } = rollout;
    const mayHaveChanged = (since: number) =>
      [...this.#history.all(this.#hash, 'publish'), ...this.#history.all(this.#hash, 'delete')].some(
        ({ endedAt }) => endedAt > since,
      );
    return [...this.#accepts].flatMap(([id, { deed, facts }]) => {
      const other = this.#endOf(id);
      if (facts.rerunOf !== replaces || facts.replaces !== null || other === undefined) return [];
      // A stream that was published since its request outranks it.
      return other.endedAt < end.begunAt && !mayHaveChanged(deed.begunAt)
        ? [`I35: a rollout that had seen ${replaces} published ${playedJob} over ${id}`]
        : [];
    });
  }

  #endOf(jobId: string) {
    return this.#history
      .of(this.#hash, 'end')
      .find(({ facts }) => facts.jobId === jobId && facts.status === 'completed');
  }

  /** Whether a job was accepted before the request for a deletion. */
  #isCovered(jobId: string, deletion: Deed<'delete'>): boolean {
    const accept = this.#accepts.get(jobId)?.deed;
    return accept !== undefined && accept.endedAt < deletion.begunAt;
  }

  /** The deletions that someone asked for; the answer says that nothing runs any more. */
  #requested() {
    return this.#history.of(this.#hash, 'delete').filter(({ facts }) => !facts.isByTime);
  }

  /** The last deletion that was answered before `at`, if nothing can have been accepted since it was asked for. */
  lastWord(at = Infinity): Deed<'delete'> | null {
    const accepts = this.#history.all(this.#hash, 'accept').filter(({ facts }) => facts?.isNew !== false);
    const deletions = at === Infinity ? this.#history.of(this.#hash, 'delete') : this.#requested();
    const covering = deletions.filter(
      ({ begunAt, endedAt }) => endedAt < at && accepts.every((accept) => accept.endedAt < begunAt),
    );
    return covering.at(-1) ?? null;
  }

  /** I36: after a deletion that was answered nothing accepted before it plays, and no key of it exists. */
  #deleted(found: Found): string[] {
    const violations: string[] = [];
    for (const deletion of this.#history.of(this.#hash, 'delete')) {
      const name = `I36: after the deletion at ${deletion.begunAt}, ${this.#hash}`;
      const { purgeInMs } = deletion.facts;
      if (purgeInMs !== null && purgeInMs < learntMs) violations.push(`${name} is purged ${purgeInMs} ms later`);
      for (const { id, hasStream } of found.jobs)
        if (hasStream && this.#isCovered(id, deletion)) violations.push(`${name} has the stream of ${id}`);
    }
    for (const deletion of this.#requested())
      for (const { facts, begunAt } of this.#history.of(this.#hash, 'end'))
        if (facts.status === 'completed' && begunAt > deletion.endedAt && this.#isCovered(facts.jobId, deletion))
          violations.push(`I36: ${facts.jobId} completes after the deletion at ${deletion.begunAt}`);
    const last = this.lastWord();
    if (last === null) return violations;
    // A submission that is under way may say a title until the end of the deletion.
    if (found.title !== null) violations.push(`I36: after the deletion at ${last.begunAt}, ${this.#hash} has a title`);
    return [...violations, ...this.afterDeletion(found, last)];
  }

  /** I36 of a media to which nothing was done after its deletion. */
  afterDeletion(
    { hasKey, isDeleted, playedJob }: Pick<Found, 'hasKey' | 'isDeleted' | 'playedJob'>,
    { begunAt }: Deed,
  ) {
    const name = `I36: after the deletion at ${begunAt}, ${this.#hash}`;
    return [
      ...(hasKey ? [`${name} has a content key`] : []),
      ...(isDeleted ? [] : [`${name} does not answer 410`]),
      ...(playedJob !== null && !isDeleted ? [`${name} plays ${playedJob}`] : []),
    ];
  }

  /** I37: expiry and hold are as the last answered change says, and nothing deletes against them. */
  #changed({ isHeld, expiresAt }: Found): string[] {
    const violations: string[] = [];
    const holds = this.#history.all(this.#hash, 'hold');
    const expiries = this.#history.all(this.#hash, 'expire');
    const deletions = this.#history.of(this.#hash, 'delete').filter(({ facts }) => facts.isNew);
    for (const hold of this.#history.of(this.#hash, 'hold')) {
      const others = holds.filter(
        ({ facts, endedAt }) => facts?.isHeld !== hold.facts.isHeld && endedAt > hold.begunAt,
      );
      if (hold.facts.isHeld && others.length === 0 && !isHeld)
        violations.push(`I37: the hold at ${hold.begunAt} is lost`);
      if (!hold.facts.isHeld) continue;
      for (const deletion of deletions) {
        const isEnded = others.some(({ begunAt }) => begunAt < deletion.endedAt);
        if (deletion.begunAt > hold.endedAt && !isEnded)
          violations.push(`I37: the deletion at ${deletion.begunAt} ignores the hold at ${hold.begunAt}`);
      }
    }
    for (const expiry of this.#history.of(this.#hash, 'expire')) {
      const others = expiries.filter(({ facts, endedAt }) => facts?.at !== expiry.facts.at && endedAt > expiry.begunAt);
      const mayBeDeleted = this.#history.all(this.#hash, 'delete').some(({ endedAt }) => endedAt > expiry.begunAt);
      if (others.length === 0 && !mayBeDeleted && expiresAt !== expiry.facts.at)
        violations.push(`I37: the expiry that was set at ${expiry.begunAt} is lost`);
      if (expiry.facts.at !== null && expiry.facts.at < Date.now()) continue;
      for (const deletion of deletions.filter(({ facts }) => facts.isByTime)) {
        const isEnded = others.some(({ begunAt }) => begunAt < deletion.endedAt);
        if (deletion.endedAt > expiry.endedAt && !isEnded)
          violations.push(
            `I37: the deletion at ${deletion.begunAt} ignores the expiry that was set at ${expiry.begunAt}`,
          );
      }
    }
    return violations;
  }

  /** I37: the title is the last one that a change said, unless a deletion may have taken it. */
  #described({ title }: Found): string[] {
    const others = [...this.#history.all(this.#hash, 'describe'), ...this.#history.all(this.#hash, 'delete')];
    return this.#history
      .of(this.#hash, 'describe')
      .filter(({ facts }) => !facts.byJob && facts.title !== title)
      .filter((said) => others.every((other) => other.begunAt === said.begunAt || other.endedAt < said.begunAt))
      .map(({ facts, begunAt }) => `I37: the title ${facts.title} that was said at ${begunAt} is ${title}`);
  }

  /** I37: what was cancelled stays cancelled. */
  #cancelled({ jobs }: Found): string[] {
    const status = new Map(jobs.map((job) => [job.id, job.status]));
    return this.#history
      .of(this.#hash, 'cancel')
      .filter(({ facts }) => status.get(facts.jobId) !== 'cancelled')
      .map(({ facts }) => `I37: ${facts.jobId} was cancelled, and is ${status.get(facts.jobId)}`);
  }

  /** I38: an equal submission is answered by the job whose stream is played, and by nothing that was deleted. */
  #answers({ playedJob, answering }: Found): string[] {
    const violations =
      answering === null || answering === playedJob
        ? []
        : [`I38: ${this.#hash} plays ${playedJob}, and an equal submission is answered by ${answering}`];
    const deletions = this.#requested();
    for (const { facts, begunAt } of this.#history.of(this.#hash, 'accept')) {
      const deletion = deletions.find((each) => each.endedAt < begunAt && this.#isCovered(facts.jobId, each));
      if (!facts.isNew && deletion !== undefined)
        violations.push(`I38: the request at ${begunAt} is answered by ${facts.jobId}, deleted at ${deletion.begunAt}`);
    }
    return violations;
  }
}
