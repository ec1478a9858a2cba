import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { masterKey } from '#domain/media/object-keys.ts';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { checkout } from '../../testing/checkout.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// What the player page says when the service refuses a ticket: its module reads what the service really answers.

const [hash, secret] = ['movie-1', 'a secret of streams of the player'];
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const sign = (given: object = {}, by = secret) => signStreamTicket({ hash, exp: inAnHour(), ...given }, by);

interface Problems {
  problemOfStatus(what: string, status: number, asked: object, detail: string): Readonly<Record<string, unknown>>;
}

let api: ApiUnderTest;
let unsigned: ApiUnderTest;
let problems: Problems;
beforeAll(async () => {
  [api, unsigned] = await Promise.all([startApi({ streamSecrets: [secret] }), startApi()]);
  await api.putMedia(masterKey(hash), '#EXTM3U\n');
  await api.d.database.pool.query(`insert into playbacks (hash, is_signed) values ($1, true)`, [hash]);
  vi.stubGlobal('document', { baseURI: 'https://media.example/player/' });
  problems = (await import(join(checkout, 'web/problems.js'))) as Problems;
  vi.unstubAllGlobals();
});
afterAll(async () => {
  await api.close();
  await unsigned.close();
});

async function shownFor(ticket: string, path: string, of = api): Promise<string> {
  const { status, json } = await of.raw(path);
  const asked = { hash, token: '', ticket };
  const { kind, title, message, isPart } = problems.problemOfStatus('stream', status, asked, json.detail);
  expect(isPart).toBe(false);
  return `${String(kind)}: ${String(title)}. ${String(message)}`;
}

const begin = (ticket: string) => `/s/${ticket}/${hash}/master.m3u8`;

it.each([
  ['has expired', sign({ exp: 1_000_000_000 }), /^ticket-expired: This link has expired\. It was valid until .*2001/],
  ['is of another media', sign({ hash: 'movie-2' }), /^ticket-refused: This link is not valid\./],
  ['is of another secret', sign({}, 'the secret of somebody else'), /^ticket-refused: This link is not valid\./],
  ['is none', 'ticket', /^ticket-refused: This link is not valid\./],
])('C33.15: of a ticket that %s the page says so, and how to get another one', async (_, ticket, expected) => {
  const shown = await shownFor(ticket, begin(ticket));
  expect(shown).toMatch(expected);
  expect(shown).toMatch(/Open the player link that you were given, or ask for a new one\.$/);
});

it('C33.15: the page says that a ticket is too small, or that the service takes none', async () => {
  const small = sign({ scope: '360p' });
  const outside = `/s/${small}/${hash}/0123456789abcdef/video/r1080_h264/seg_1.m4s`;
  expect(await shownFor(small, outside)).toMatch(/^ticket-scope: This link does not open the whole stream\./);
  expect(await shownFor(small, begin(small), unsigned)).toMatch(/^ticket-off: This server takes no tickets\./);
});

it('C33.15: the page says that a signed stream needs a ticket, and that its ticket was withdrawn', async () => {
  const missing = () => shownFor('', `/stream/${hash}/master.m3u8`);
  await expect.poll(missing, { timeout: 10_000 }).toMatch(/^ticket-missing: This stream needs a ticket\./);
  const ticket = sign();
  await api.d.database.pool.query(
    'update playbacks set generation = 1, changed_at = clock_timestamp() where hash = $1',
    [hash],
  );
  const withdrawn = async () => (await api.raw(begin(ticket))).status;
  await expect.poll(withdrawn, { timeout: 10_000 }).toBe(403);
  expect(await shownFor(ticket, begin(ticket))).toMatch(/^ticket-withdrawn: This link was withdrawn\./);
});
