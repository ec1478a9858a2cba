import { LRUCache } from 'lru-cache';

const rememberedMs = 1_000;
/** Between two questions while the database is away. */
const asksAgainAfterMs = 1_000;
const answersMax = 10_000;

/**
 * Answers of the database about single media. An answer is remembered for a second, and all who ask meanwhile share one
 * query. While the database is away, requests do not all wait for it: it is asked once a second. An answer that is
 * forgotten before it came may be older than the change: whoever waits for it asks again.
 */
export class DatabaseAnswers<Answer extends object> {
  readonly #answers: LRUCache<string, Answer>;
  #asksAgainAtMs = 0;

  constructor(find: (hash: string) => Promise<Answer>) {
    const fetchMethod = async (hash: string, _before: unknown, { signal }: { readonly signal: AbortSignal }) => {
      try {
        return await find(hash);
      } catch (error) {
        if (!signal.aborted) this.#asksAgainAtMs = performance.now() + asksAgainAfterMs;
        throw error;
      }
    };
    this.#answers = new LRUCache({ max: answersMax, ttl: rememberedMs, fetchMethod });
  }

  /** Undefined while the database is away. */
  async ask(hash: string): Promise<Answer | undefined> {
    while (performance.now() >= this.#asksAgainAtMs)
      try {
        return await this.#answers.fetch(hash);
      } catch {
        // The database is away, which ends the loop, or the cache has dropped the question.
      }
    return this.remembered(hash);
  }

  /** Undefined where it was not asked within the last second. */
  remembered(hash: string): Answer | undefined {
    return this.#answers.get(hash);
  }

  forget(hash: string): void {
    this.#answers.delete(hash);
  }
}
