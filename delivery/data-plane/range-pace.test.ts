import { describe, expect, it } from 'vitest';
import { RecentClients } from '#platform/rate-limit/recent-clients.ts';
import { RangePace } from './range-pace.ts';

const mebibyte = 1024 * 1024;
const part = { start: 5, end: 5 + mebibyte - 1 };
const first = { start: 5, end: 5 + mebibyte / 4 - 1 };

function paceWith(...clients: readonly string[]): RangePace {
  const recent = new RecentClients();
  for (const client of clients) recent.note(client, 0);
  return new RangePace(recent);
}

describe('RangePace', () => {
  it('a client that has no others gets what it requests at once', () => {
    const pace = paceWith('a');
    for (let n = 0; n < 1000; n++) expect(pace.next('a', part, 0)).toEqual({ piece: part, waitMs: 0 });
  });

  it('C17.36: of a client with others each second is worth 32 MiB, in small pieces when it requests more', () => {
    const pace = paceWith('a', 'b');
    expect(pace.next('a', part, 0)).toEqual({ piece: part, waitMs: 0 });
    const answers = Array.from({ length: 128 }, () => pace.next('a', part, 0));
    expect(answers.map(({ piece }) => piece)).toEqual(answers.map(() => first));
    expect(answers.at(-1)?.waitMs).toBe(1000);
    // What others request waits for none of it.
    expect(pace.next('b', part, 0)).toEqual({ piece: part, waitMs: 0 });
    expect(pace.next('a', part, 1_500)).toEqual({ piece: part, waitMs: 0 });
  });
});
