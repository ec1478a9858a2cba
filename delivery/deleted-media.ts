import { LRUCache } from 'lru-cache';
import { KnownProblem } from '#domain/errors.ts';
import { mediaOfAddress } from '#domain/playback/media-address.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import { withTimeout } from '#platform/lifecycle/with-timeout.ts';
import type { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/*
 * Which media are deleted. A server has the deletions of the last hour in memory: it reads them all every half minute,
 * and what changed every second. Nothing of them is answered from its caches, whose entries are dropped when a hash
 * comes and again when it goes. After the hour their objects are deleted, so the database is asked where an object is
 * missing. When there are more than memory is given to, it is asked about every media. While the database is away, what
 * is known stays so, and nothing new is learnt.
 */

const askEveryMs = 1_000;
const readAllEveryMs = 30_000;
const firstAnswerMsMax = 2_000;
/** About 20 MiB of hashes. */
const recentMaxDefault = 100_000;
/** A hash that is asked about is remembered for so long, also that it was not deleted. */
const rememberedMs = 1_000;
const answersMax = 10_000;

interface DeletedMediaDependencies {
  readonly store: Pick<DeletedMediaStore, 'recent' | 'changed' | 'isDeleted'>;
  readonly log: Logger;
  readonly recentMax?: number;
}

export class DeletedMedia {
  readonly #dependencies: DeletedMediaDependencies;
  readonly #forget: ((hashes: readonly string[]) => void)[] = [];
  readonly #answers: LRUCache<string, { readonly isDeleted: boolean }>;
  readonly #stopping = new AbortController();
  readonly #recentMax: number;
  readonly #recent = new Set<string>();
  /** There are more than are in memory. */
  #isPartial = false;
  #readAllAtMs = 0;
  #asksAgainAtMs = 0;
  /** By the database, when it was asked last. */
  #isAnswered = true;
  #ended = Promise.resolve();

  constructor(dependencies: DeletedMediaDependencies) {
    this.#dependencies = dependencies;
    this.#recentMax = dependencies.recentMax ?? recentMaxDefault;
    this.#answers = new LRUCache({
      max: answersMax,
      ttl: rememberedMs,
      // One query for all who ask meanwhile.
      fetchMethod: async (hash: string) => ({ isDeleted: await dependencies.store.isDeleted(hash) }),
    });
  }

  /**
   * Asks the database until it is stopped. Resolves when it has answered once, so that a new server plays nothing that
   * is deleted; without a database that answers, after two seconds.
   */
  async start(): Promise<void> {
    const begun = this.#readOrLog();
    this.#ended = begun.then(() => this.#repeat());
    await withTimeout(begun, firstAnswerMsMax, 'the deleted media were not read').catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  /** `forget` drops what a cache has of some media; of many at once, as after an outage, in one call. */
  onDeleted(forget: (hashes: readonly string[]) => void): void {
    this.#forget.push(forget);
  }

  /** Whether an address may not be answered from memory. Nearly always nothing was deleted lately. */
  isRecent(url: string): boolean {
    return this.#recent.size > 0 && (this.#isPartial || this.#recent.has(mediaOfAddress(url) ?? ''));
  }

  /** Of a media that was deleted within the last hour, and of which nothing new is there; null for any other. */
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
    if (performance.now() < this.#asksAgainAtMs) return this.#recent.has(hash);
    const answer = await this.#answers.fetch(hash).catch(() => {
      // Requests for what is missing do not all wait for a database that is away.
      this.#asksAgainAtMs = performance.now() + askEveryMs;
      return undefined;
    });
    return answer?.isDeleted ?? this.#recent.has(hash);
  }

  async #repeat(): Promise<void> {
    for (;;) {
      await pause(askEveryMs, this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      await this.#readOrLog();
    }
  }

  async #readOrLog(): Promise<void> {
    try {
      await this.#read();
      this.#isAnswered = true;
    } catch (error) {
      // The table may not be there yet, and an outage lasts: one line for each.
      if (this.#isAnswered) this.#dependencies.log.warn({ err: error }, 'deleted media not read');
      this.#isAnswered = false;
      // What changed meanwhile may be older than what is asked for each second.
      this.#readAllAtMs = 0;
    }
  }

  async #read(): Promise<void> {
    const { store } = this.#dependencies;
    const isWhole = performance.now() >= this.#readAllAtMs;
    if (isWhole) this.#replace(new Set(await store.recent(this.#recentMax)));
    else this.#change(await store.changed(this.#recentMax));
    if (isWhole) this.#readAllAtMs = performance.now() + readAllEveryMs;
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
