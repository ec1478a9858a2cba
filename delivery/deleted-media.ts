import { KnownProblem } from '#domain/errors.ts';
import { mediaOfAddress } from '#domain/playback/media-address.ts';
import type { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { DatabaseAnswers } from './database-answers.ts';
import { DatabasePoll } from './database-poll.ts';

/*
 * Which media are deleted. A server has the deletions of the last hour in memory: it reads them all every half minute,
 * and what changed every second. Nothing of them is answered from its caches, whose entries are dropped when a hash
 * comes and again when it goes. After the hour their objects are deleted, so the database is asked where an object is
 * missing. When there are more than memory is given to, it is asked about every media. While the database is away, what
 * is known stays so, and nothing new is learnt.
 */

/** About 20 MiB of hashes. */
const recentMaxDefault = 100_000;

interface DeletedMediaDependencies {
  readonly store: Pick<DeletedMediaStore, 'recent' | 'changed' | 'isDeleted'>;
  readonly log: Logger;
  readonly recentMax?: number;
}

export class DeletedMedia {
  readonly #dependencies: DeletedMediaDependencies;
  readonly #forget: ((hashes: readonly string[]) => void)[] = [];
  readonly #answers: DatabaseAnswers<{ readonly isDeleted: boolean }>;
  readonly #poll: DatabasePoll;
  readonly #recentMax: number;
  readonly #recent = new Set<string>();
  /** There are more than are in memory. */
  #isPartial = false;

  constructor(dependencies: DeletedMediaDependencies) {
    this.#dependencies = dependencies;
    this.#recentMax = dependencies.recentMax ?? recentMaxDefault;
    this.#poll = new DatabasePoll({
      read: (isWhole) => this.#read(isWhole),
      onFailure: (error) => dependencies.log.warn({ err: error }, 'deleted media not read'),
      log: dependencies.log,
    });
    this.#answers = new DatabaseAnswers(async (hash) => ({ isDeleted: await dependencies.store.isDeleted(hash) }));
  }

  /**
   * Asks the database until it is stopped. Resolves when it has answered once, so that a new server plays nothing that
   * is deleted; without a database that answers, after two seconds.
   */
  start(): Promise<void> {
    return this.#poll.start();
  }

  stop(): Promise<void> {
    return this.#poll.stop();
  }

  /** `forget` drops what a cache has of some media; of many at once, as after an outage, in one call. */
  onDeleted(forget: (hashes: readonly string[]) => void): void {
    this.#forget.push(forget);
  }

  /** Whether an address may not be answered from memory. Nearly always nothing was deleted lately. */
  isRecent(url: string): boolean {
    return this.#recent.size > 0 && (this.#isPartial || this.#recent.has(mediaOfAddress(url) ?? ''));
  }

  /** The refusal of a media that was deleted within the last hour and not made again since; null for any other. */
  async refusalOf(hash: string): Promise<KnownProblem<'media_deleted'> | null> {
    const isAsked = this.#isPartial || this.#recent.has(hash);
    return isAsked && (await this.isDeleted(hash)) ? deletedProblem(hash) : null;
  }

  /** Why something of the media is missing: `missing`, or its deletion. */
  async explain<Missing>(hash: string, missing: Missing): Promise<KnownProblem<'media_deleted'> | Missing> {
    return (await this.isDeleted(hash)) ? deletedProblem(hash) : missing;
  }

  /**
   * Answers a request for something of the media by `answer`.
   *
   * @throws KnownProblem `media_deleted`, and what `answer` throws
   */
  async answerUnlessDeleted<Answer>(hash: string | null, answer: () => Promise<Answer>): Promise<Answer> {
    if (hash === null) return answer();
    const refusal = await this.refusalOf(hash);
    if (refusal !== null) throw refusal;
    try {
      return await answer();
    } catch (error) {
      throw error instanceof KnownProblem && error.code === 'not_found' ? await this.explain(hash, error) : error;
    }
  }

  /** A media that was made again is there before this process hears of it. Without a database, what is known counts. */
  async isDeleted(hash: string): Promise<boolean> {
    const answer = await this.#answers.ask(hash);
    return answer?.isDeleted ?? this.#recent.has(hash);
  }

  async #read(isWhole: boolean): Promise<void> {
    const { store } = this.#dependencies;
    if (isWhole) this.#replace(new Set(await store.recent(this.#recentMax)));
    else this.#change(await store.changed(this.#recentMax));
    this.#isPartial ||= this.#recent.size >= this.#recentMax;
  }

  #replace(recent: ReadonlySet<string>): void {
    const restored = [...this.#recent].filter((hash) => !recent.has(hash));
    this.#change([
      ...restored.map((hash) => ({ hash, isDeleted: false })),
      ...[...recent].map((hash) => ({ hash, isDeleted: true })),
    ]);
    this.#isPartial = recent.size >= this.#recentMax;
  }

  #change(states: readonly { readonly hash: string; readonly isDeleted: boolean }[]): void {
    const changed: string[] = [];
    for (const { hash, isDeleted } of states) {
      if (this.#recent.has(hash) === isDeleted) continue;
      if (!isDeleted) this.#recent.delete(hash);
      else if (this.#recent.size < this.#recentMax) this.#recent.add(hash);
      changed.push(hash);
    }
    if (changed.length > 0) for (const forget of this.#forget) forget(changed);
  }
}

function deletedProblem(hash: string): KnownProblem<'media_deleted'> {
  return new KnownProblem('media_deleted', `The media ${hash} was deleted.`);
}
