import { describe, expect, it } from 'vitest';
import { readStreamTicket, signStreamTicket, ticketSecretsOf } from './ticket.ts';

const [newer, older] = ['a newer secret of streams', 'an older secret of streams'] as const;
const secrets = ticketSecretsOf([newer, older]);
const exp = 1_893_456_000;
const hash = 'movie.1';

describe('readStreamTicket', () => {
  it('C33.1: a ticket is signed over hash, expiry, key id, generation and scope', () => {
    const ticket = signStreamTicket({ hash, exp, generation: 3, scope: '720p~sid-u_42' }, newer);
    expect(ticket).toMatch(/^1893456000\.[\w-]{8}\.3\.720p~sid-u_42\.[\w-]{43}$/);
    expect(readStreamTicket(ticket, hash, secrets)).toEqual({
      kind: 'signed',
      ticket: { exp, generation: 3, scope: { isAudioOnly: false, heightMax: 720, session: 'u_42' } },
    });
  });

  it('C33.2: each secret of STREAM_SECRET is accepted, and no other', () => {
    for (const secret of [newer, older])
      expect(readStreamTicket(signStreamTicket({ hash, exp }, secret), hash, secrets).kind).toBe('signed');
    const foreign = signStreamTicket({ hash, exp }, 'a secret of somebody else');
    expect(readStreamTicket(foreign, hash, secrets)).toMatchObject({ kind: 'unknown_key' });
  });

  const parts = signStreamTicket({ hash, exp, generation: 3, scope: 'audio' }, newer).split('.');
  it.each([
    ['another expiry', parts.with(0, String(exp + 1))],
    ['another generation', parts.with(2, '4')],
    ['another scope', parts.with(3, '720p')],
    ['no scope', parts.toSpliced(3, 1)],
    ['another signature', parts.with(4, 'A'.repeat(43))],
    ['the key id of another secret', parts.with(1, [...secrets.keys()][1] ?? '')],
  ])('C33.1: a ticket with %s is forged', (_what, changed) => {
    expect(readStreamTicket(changed.join('.'), hash, secrets)).toEqual({ kind: 'forged' });
  });

  it('C33.1: a ticket of another hash is forged', () => {
    const ticket = signStreamTicket({ hash, exp }, newer);
    for (const other of ['movie.2', 'movie', 'movie.1/', '']) {
      expect(readStreamTicket(ticket, other, secrets)).toEqual({ kind: 'forged' });
    }
  });

  it.each([
    '',
    'x',
    '1.2.3.4',
    `${exp}.12345678.0`,
    `0${exp}.12345678.0.${'A'.repeat(43)}`,
    `-1.12345678.0.${'A'.repeat(43)}`,
  ])('what is no ticket is malformed: %s', (text) => {
    expect(readStreamTicket(text, hash, secrets)).toEqual({ kind: 'malformed' });
  });

  it('a signed scope that is none is malformed', () => {
    for (const scope of ['video', '720', 'audio~720p', 'sid-', 'audio~', '~sid-a'])
      expect(readStreamTicket(signStreamTicket({ hash, exp, scope }, newer), hash, secrets).kind).toBe('malformed');
  });
});
