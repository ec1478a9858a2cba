import { expect, it } from 'vitest';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { TicketAccess, type TicketedAddress } from './ticket-access.ts';

const secret = 'a secret of streams of the tests';
const exp = 1_000_000;
let nowSec = exp - 10;
let generation = 0;

const clock = () => new Date(nowSec * 1000);

function open(): { access: TicketAccess; lines: object[] } {
  const lines: object[] = [];
  const log = { info: (fields: object, text: string) => void lines.push({ ...fields, text }) } as unknown as Logger;
  const playback = { knownGeneration: () => generation, generationOf: async () => generation };
  return { access: new TicketAccess({ secrets: [secret], clock, playback, log }), lines };
}

const addressOf = (ticket: string) => `/s/${ticket}/movie-1/master.m3u8?x=1`;

it('C33.6: a session is logged once, with its hash', () => {
  const { access, lines } = open();
  const ticket = signStreamTicket({ hash: 'movie-1', exp, scope: '720p~sid-a1' }, secret);
  for (let n = 0; n < 3; n++) expect(access.find(addressOf(ticket))?.rest).toBe('movie-1/master.m3u8?x=1');
  expect(access.find(addressOf(signStreamTicket({ hash: 'movie-1', exp }, secret)))).not.toBeNull();
  expect(access.find(addressOf(`${ticket}x`))).toBeNull();
  expect(lines).toEqual([{ hash: 'movie-1', session: 'a1', text: 'ticket used' }]);
});

it('C33.3: a ticket that is remembered expires all the same', async () => {
  const { access } = open();
  const address = access.require(addressOf(signStreamTicket({ hash: 'movie-1', exp }, secret)));
  expect(access.leftSec(address)).toBe(10);
  await access.requireInForce(address);
  nowSec = exp;
  expect(access.leftSec(address)).toBe(0);
  await expect(access.requireInForce(address)).rejects.toThrow('The ticket expired at 1970-01-12T13:46:40.000Z. Ask');
});

it('C33.9: a ticket that is remembered is withdrawn all the same, and one of a later generation holds', async () => {
  nowSec = exp - 10;
  const { access } = open();
  const [old, later] = [0, 7].map((n) =>
    access.require(addressOf(signStreamTicket({ hash: 'movie-1', exp, generation: n }, secret))),
  ) as [TicketedAddress, TicketedAddress];
  expect([access.isKnownCurrent(old), access.isKnownCurrent(later)]).toEqual([true, true]);
  generation = 1;
  expect([access.isKnownCurrent(old), access.isKnownCurrent(later)]).toEqual([false, true]);
  await expect(access.requireInForce(old)).rejects.toThrow(
    'The tickets of generation 0 were withdrawn; the media is at 1. Ask',
  );
  await access.requireInForce(later);
});
