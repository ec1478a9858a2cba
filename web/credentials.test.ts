import { afterEach, beforeEach, expect, it, vi } from 'vitest';

// Tokens and tickets that the page around sends, and when it is asked for the next ticket.

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000_000_000 });
  vi.stubGlobal('document', { baseURI: 'http://reelwright.test/player/' });
  vi.stubGlobal('location', { hash: '#hash=a&token=t1&ticket=k1' });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const open = () => import('./credentials.js');
const ticketFor = (seconds: number) => `${1_000_000_000 + seconds}.egnnhT6q.0.sig`;

it('what the page around sent wins over the address, each for itself and for its stream alone', async () => {
  const credentials = (await open()).createCredentials();
  const shown = () => [credentials.choice().token, credentials.choice().ticket];
  expect(shown()).toEqual(['t1', 'k1']);
  credentials.take('ticket', 'k2', 'a');
  expect(shown()).toEqual(['t1', 'k2']);
  credentials.take('token', 't2', 'a');
  expect(shown()).toEqual(['t2', 'k2']);
  vi.stubGlobal('location', { hash: '#hash=b&token=t3' });
  expect(shown()).toEqual(['t3', '']);
  vi.stubGlobal('location', { hash: '#hash=a' });
  expect(shown()).toEqual(['t2', 'k2']);
  vi.stubGlobal('location', { hash: '#hash=b' });
  credentials.forgetOthers();
  vi.stubGlobal('location', { hash: '#hash=a' });
  expect(shown()).toEqual(['', '']);
});

it.each([
  ['of an hour a minute before its end', 3600, 3540],
  ['of a minute at half of its time', 60, 30],
  ['of ten years after the longest time that a timer can wait', 315_360_000, (2 ** 31 - 1) / 1000],
])('a ticket %s is renewed', async (_, lifetimeSec, atSec) => {
  const renew = vi.fn();
  (await open()).createTicketTimer(renew).watch(ticketFor(lifetimeSec));
  vi.advanceTimersByTime(atSec * 1000 - 1);
  expect(renew).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(renew).toHaveBeenCalledOnce();
});

it('a newer ticket puts the renewal off, and what is no ticket or has expired is not renewed', async () => {
  const renew = vi.fn();
  const timer = (await open()).createTicketTimer(renew);
  timer.watch(ticketFor(60));
  timer.watch(ticketFor(3600));
  vi.advanceTimersByTime(600_000);
  for (const ticket of ['', 'ticket', ticketFor(-1)]) timer.watch(ticket);
  vi.advanceTimersByTime(7_200_000);
  expect(renew).not.toHaveBeenCalled();
});
