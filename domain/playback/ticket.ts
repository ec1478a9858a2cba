import { createHmac, timingSafeEqual } from 'node:crypto';
import { readScope, type TicketScope } from './ticket-scope.ts';

/**
 * Tickets of signed streams (C33.1): `/s/{ticket}/{hash}/…` serves what `/stream/{hash}/…` does.
 *
 * A ticket is `{exp}.{kid}.{generation}.{sig}`, or `{exp}.{kid}.{generation}.{scope}.{sig}`. `sig` is base64url without
 * padding of HMAC-SHA256 with a secret of `STREAM_SECRET` over the address without it: `/s/{exp}.{kid}.{generation}/{hash}`,
 * or `/s/{exp}.{kid}.{generation}.{scope}/{hash}`. `kid` says which secret: the first eight characters of the same
 * function over `kid`.
 */

/** The content of a ticket. */
export interface StreamTicket {
  /** Unix seconds from which on it is refused. */
  readonly exp: number;
  /** Refused where the media's generation is greater. */
  readonly generation: number;
  /** Null: all of the media. */
  readonly scope: TicketScope | null;
}

/** The input of a new ticket, with the scope as text. */
export interface NewTicket {
  readonly hash: string;
  readonly exp: number;
  readonly generation?: number;
  readonly scope?: string;
}

export type TicketVerdict =
  | { readonly kind: 'signed'; readonly ticket: StreamTicket }
  /** Not of the form above. */
  | { readonly kind: 'malformed' }
  /** Signed with a secret that this server does not have. */
  | { readonly kind: 'unknown_key'; readonly kid: string }
  /** The signature does not hold for this hash. */
  | { readonly kind: 'forged' };

/** Secrets of tickets by their ids. */
export type TicketSecrets = ReadonlyMap<string, string>;

function mac(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

function kidOf(secret: string): string {
  return mac(secret, 'kid').slice(0, 8);
}

/** The secrets of `STREAM_SECRET` by their ids. */
export function ticketSecretsOf(secrets: readonly string[]): TicketSecrets {
  return new Map(secrets.map((secret) => [kidOf(secret), secret]));
}

/** Makes a ticket. An application does this for a user whom it let in; the secret never leaves servers. */
export function signStreamTicket({ hash, exp, generation = 0, scope }: NewTicket, secret: string): string {
  const claims = [exp, kidOf(secret), generation, ...(scope === undefined ? [] : [scope])].join('.');
  return `${claims}.${mac(secret, `/s/${claims}/${hash}`)}`;
}

const form = /^((0|[1-9]\d{0,14})\.([\w-]{8})\.(0|[1-9]\d{0,14})(?:\.([^./]+))?)\.([\w-]{43})$/;

/**
 * Checks the signature, in constant time and by one HMAC at most, and reads the ticket. Expiry and generation are for
 * the caller to compare: they change, and the verdict does not.
 */
export function readStreamTicket(text: string, hash: string, secrets: TicketSecrets): TicketVerdict {
  const [, claims = '', exp = '', kid = '', generation = '', scopeText, signature = ''] = form.exec(text) ?? [];
  if (claims === '') return { kind: 'malformed' };
  const secret = secrets.get(kid);
  if (secret === undefined) return { kind: 'unknown_key', kid };
  const [given, expected] = [Buffer.from(signature), Buffer.from(mac(secret, `/s/${claims}/${hash}`))];
  if (!timingSafeEqual(given, expected)) return { kind: 'forged' };
  const scope = scopeText === undefined ? null : readScope(scopeText);
  if (scopeText !== undefined && scope === null) return { kind: 'malformed' };
  return { kind: 'signed', ticket: { exp: Number(exp), generation: Number(generation), scope } };
}
