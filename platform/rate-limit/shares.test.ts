import { expect, it } from 'vitest';
import { Shares } from './shares.ts';

function takeAll(shares: Shares, client: string): (() => void)[] {
  const taken: (() => void)[] = [];
  for (let giveBack = shares.take(client); giveBack !== null; giveBack = shares.take(client)) taken.push(giveBack);
  return taken;
}

it('a client that takes all it can get leaves half of the places, and two leave a third', () => {
  const shares = new Shares(90);
  expect(takeAll(shares, 'a')).toHaveLength(45);
  const [first, ...others] = takeAll(shares, 'b');
  expect(others.length + 1).toBe(23);
  const third = shares.take('c');
  expect(third).not.toBeNull();
  third?.();
  first?.();
  first?.();
  expect(shares.take('b')).not.toBeNull();
  expect(shares.take('b')).toBeNull();
});

it('places that are given back leave no trace of their client', () => {
  const shares = new Shares(10);
  for (const giveBack of [...takeAll(shares, 'a'), ...takeAll(shares, 'b')]) giveBack();
  expect(shares.clientCount).toBe(0);
  expect(takeAll(shares, 'c')).toHaveLength(5);
});

it('a client may take several places at once, as many as are free', () => {
  const shares = new Shares(100);
  expect(shares.take('a', 101)).toBeNull();
  expect(shares.take('a', 60)).not.toBeNull();
  expect(shares.take('b', 41)).toBeNull();
  expect(shares.take('b', 40)).not.toBeNull();
});
