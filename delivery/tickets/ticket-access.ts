import { LRUCache } from 'lru-cache';
import { KnownProblem } from '#domain/errors.ts';
import { readStreamTicket, type StreamTicket, ticketSecretsOf, type TicketSecrets } from '#domain/playback/ticket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { PlaybackStates } from '../playback-states.ts';

// Who may read below `/s/{ticket}/{hash}/`. A signature is verified once and remembered: a player sends its ticket with
// each segment. Expiry and generation are compared for each request, so nothing that is remembered outlives them.

export const ticketPrefix = '/s/';

/** About 10 MiB of tickets and what they say. */
const rememberedMax = 20_000;

const howToGet =
  'Ask the application that gave out this address for a new one. It signs tickets with STREAM_SECRET: by `reelwright ticket`, `streamTicket` of a client, or a recipe of the guide "Sign streams".';

/** An address below `/s/` whose ticket is signed for its hash. */
export interface TicketedAddress {
  readonly hash: string;
  readonly ticket: StreamTicket;
  /** `/s/{ticket}/`. */
  readonly prefix: string;
  /** The rest of the address: `{hash}/…`, with the query. */
  readonly rest: string;
}

interface TicketAccessDependencies {
  /** `STREAM_SECRET`. */
  readonly secrets: readonly string[];
  readonly clock: () => Date;
  readonly playback: Pick<PlaybackStates, 'knownGeneration' | 'generationOf'>;
  readonly log: Logger;
}

export class TicketAccess {
  readonly #secrets: TicketSecrets;
  readonly #clock: () => Date;
  readonly #playback: TicketAccessDependencies['playback'];
  readonly #log: Logger;
  /** Valid tickets by the text of ticket and hash in addresses. Others are not remembered: they are made up at will. */
  readonly #signed = new LRUCache<string, StreamTicket>({ max: rememberedMax });

  constructor({ secrets, clock, playback, log }: TicketAccessDependencies) {
    this.#secrets = ticketSecretsOf(secrets);
    this.#clock = clock;
    this.#playback = playback;
    this.#log = log;
  }

  /** The parts of an address, and its ticket; null where that is not signed for the hash. Expiry is not compared. */
  find(url: string): TicketedAddress | null {
    const parts = partsOf(url);
    if (parts === null) return null;
    const { named, text, hash } = parts;
    let ticket = this.#signed.get(named);
    if (ticket === undefined) {
      const verdict = readStreamTicket(text, hash, this.#secrets);
      if (verdict.kind !== 'signed') return null;
      ({ ticket } = verdict);
      this.#signed.set(named, ticket);
      if (ticket.scope?.session) this.#log.info({ hash, session: ticket.scope.session }, 'ticket used');
    }
    return { hash, ticket, prefix: parts.prefix, rest: parts.rest };
  }

  /** @throws KnownProblem that says what is wrong with the ticket: `forbidden`, `not_configured` */
  require(url: string): TicketedAddress {
    const found = this.find(url);
    if (found !== null) return found;
    if (this.#secrets.size === 0)
      throw new KnownProblem('not_configured', 'Signed addresses are off: this service has no STREAM_SECRET.');
    const parts = partsOf(url);
    const verdict = parts === null ? null : readStreamTicket(parts.text, parts.hash, this.#secrets);
    throw refused(reasonOf[verdict?.kind === 'signed' ? 'forged' : (verdict?.kind ?? 'malformed')]);
  }

  /** For how many seconds the ticket is valid; 0 once it has expired. */
  leftSec({ ticket }: TicketedAddress): number {
    return Math.max(0, ticket.exp - Math.floor(this.#clock().getTime() / 1000));
  }

  /** Whether it is known without a question to the database that the ticket is not withdrawn. */
  isKnownCurrent({ hash, ticket }: TicketedAddress): boolean {
    const generation = this.#playback.knownGeneration(hash);
    return generation !== null && ticket.generation >= generation;
  }

  /** @throws KnownProblem `forbidden` for a ticket that has expired or is withdrawn */
  async requireInForce(address: TicketedAddress): Promise<void> {
    const { exp, generation } = address.ticket;
    if (this.leftSec(address) === 0)
      throw refused(`The ticket expired at ${new Date(Math.min(exp, latestSec) * 1000).toISOString()}.`);
    const current = await this.#playback.generationOf(address.hash);
    if (generation < current)
      throw refused(`The tickets of generation ${generation} were withdrawn; the media is at ${current}.`);
  }
}

/** The last second that a `Date` can show. */
const latestSec = 8_640_000_000_000;

const reasonOf = {
  malformed: 'The address is not /s/{ticket}/{hash}/… with a ticket {exp}.{kid}.{generation}.{sig}.',
  unknown_key: 'The ticket is signed with a secret that this service does not have, or no longer has.',
  forged: "The ticket's signature does not hold for this hash; it was changed, or is of another media.",
} as const;

/** `forbidden`, with what is wrong and how to get a ticket that is right. */
export function refused(reason: string): KnownProblem<'forbidden'> {
  return new KnownProblem('forbidden', `${reason} ${howToGet}`);
}

interface AddressParts {
  readonly text: string;
  readonly hash: string;
  /** `{ticket}/{hash}`. */
  readonly named: string;
  readonly prefix: string;
  readonly rest: string;
}

function partsOf(url: string): AddressParts | null {
  const begin = ticketPrefix.length;
  const end = url.indexOf('/', begin);
  const slash = end < 0 ? -1 : url.indexOf('/', end + 1);
  if (slash < 0 || !url.startsWith(ticketPrefix)) return null;
  const named = url.slice(begin, slash);
  const hash = url.slice(end + 1, slash);
  return { text: url.slice(begin, end), hash, named, prefix: url.slice(0, end + 1), rest: url.slice(end + 1) };
}
