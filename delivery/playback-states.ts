import { KnownProblem } from '#domain/errors.ts';
import type { Playback } from '#domain/media/playback.ts';
import type { DecidedPlayback, PlaybackStore } from '#platform/postgres/playback-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { DatabaseAnswers } from './database-answers.ts';
import { DatabasePoll } from './database-poll.ts';

/*
 * How media play. A server has in memory what was decided of any, signed ones first, and reads what changed every
 * second. Where there is more than memory is given to, the database is asked about the others. While it is away, what
 * is known stays so: open media play on. A server with STREAM_SECRET that has never read what is signed answers 503 at
 * `/stream`, since an address of a signed media must not open because the database was away at the start.
 */

/** About 25 MiB. */
const decidedMaxDefault = 200_000;

interface PlaybackStatesDependencies {
  readonly store: Pick<PlaybackStore, 'find' | 'all' | 'changed'>;
  readonly log: Logger;
  /** Whether media may be signed here: `STREAM_SECRET` is set. */
  readonly hasTickets: boolean;
  readonly decidedMax?: number;
}

export class PlaybackStates {
  readonly #store: PlaybackStatesDependencies['store'];
  readonly #hasTickets: boolean;
  readonly #decidedMax: number;
  readonly #poll: DatabasePoll;
  #decided = new Map<string, Playback>();
  /** Whether every media that is signed, or that anything was decided about, is in memory. */
  #isWhole = { signed: false, all: false };
  #isRead = false;
  readonly #answers: DatabaseAnswers<Playback>;

  constructor({ store, log, hasTickets, decidedMax = decidedMaxDefault }: PlaybackStatesDependencies) {
    this.#store = store;
    this.#hasTickets = hasTickets;
    this.#decidedMax = decidedMax;
    this.#poll = new DatabasePoll({
      read: (isWhole) => this.#read(isWhole),
      onFailure: (error) => log.warn({ err: error }, 'playback of media not read'),
      log,
    });
    this.#answers = new DatabaseAnswers((hash) => store.find(hash));
  }

  /** Reads until it is stopped; resolves when the database has answered once, or after two seconds. */
  start(): Promise<void> {
    return this.#poll.start();
  }

  stop(): Promise<void> {
    return this.#poll.stop();
  }

  /** Whether `/stream` of a media may be answered without a question to the database. */
  isOpen(hash: string): boolean {
    const known = this.#decided.get(hash);
    if (known !== undefined) return known.mode === 'open';
    return this.#isRead ? this.#isWhole.signed : !this.#hasTickets;
  }

  /** The generation of a media's tickets as it is known now; null where the database must be asked. */
  knownGeneration(hash: string): number | null {
    const known = this.#decided.get(hash) ?? this.#answers.remembered(hash);
    if (known !== undefined) return known.generation;
    return this.#isWhole.all ? 0 : null;
  }

  /** The generation of a media's tickets. Without a database, what is known counts. */
  async generationOf(hash: string): Promise<number> {
    return this.knownGeneration(hash) ?? (await this.#answers.ask(hash))?.generation ?? 0;
  }

  /** @throws KnownProblem `not_found` for a signed media, `busy` where it cannot be known */
  async requireOpen(hash: string): Promise<void> {
    if (this.isOpen(hash)) return;
    const playback = this.#decided.get(hash) ?? (await this.#answers.ask(hash));
    if (playback?.mode === 'open') return;
    if (playback === undefined) throw new KnownProblem('busy', 'It is not known yet whether this media is open.');
    const address = `/s/{ticket}/${hash}/master.m3u8`;
    throw new KnownProblem(
      'not_found',
      `This media plays only with a ticket: ${address}. The application that shows it makes them.`,
    );
  }

  async #read(isWhole: boolean): Promise<void> {
    if (isWhole) {
      const all = await this.#store.all(this.#decidedMax);
      this.#decided = new Map(all.map(({ hash, playback }) => [hash, playback]));
      const isAll = all.length < this.#decidedMax;
      this.#isWhole = { all: isAll, signed: isAll || all.at(-1)?.playback.mode === 'open' };
      this.#isRead = true;
    } else for (const each of await this.#store.changed(this.#decidedMax)) this.#change(each);
  }

  #change({ hash, playback }: DecidedPlayback): void {
    this.#answers.forget(hash);
    if (this.#decided.has(hash) || this.#decided.size < this.#decidedMax) this.#decided.set(hash, playback);
    else this.#isWhole = { all: false, signed: this.#isWhole.signed && playback.mode === 'open' };
  }
}
