import { LRUCache } from 'lru-cache';

const rememberedMs = 1_000;
/** Between two questions while the database is away. */
const asksAgainAfterMs = 1_000;
const answersMax = 10_000;

/**
 * Answers of the database about single media. An answer is remembered for a second, and all who ask meanwhile share one
 * query. While the database is away, requests do not all wait for it: it is asked once a second.
 */
export class DatabaseAnswers<Answer extends object> {
  readonly #answers: LRUCache<string, Answer>;
  #asksAgainAtMs = 0;

  constructor(find: (hash: string) => Promise<Answer>) {
    this.#answers = new LRUCache({ max: answersMax, ttl: rememberedMs, fetchMethod: (hash: string) => find(hash) });
  }

  /** Undefined while the database is away. */
  async ask(hash: string): Promise<Answer | undefined> {
    if (performance.now() < this.#asksAgainAtMs) return this.remembered(hash);
    try {
      return await this.#answers.fetch(hash);
    } catch {
      this.#asksAgainAtMs = performance.now() + asksAgainAfterMs;
      return undefined;
    }
  }

  /** Undefined where it was not asked within the last second. */
  remembered(hash: string): Answer | undefined {
    return this.#answers.get(hash);
  }

  forget(hash: string): void {
    this.#answers.delete(hash);
  }
}
