import { describe, expect, it } from 'vitest';
import { nearestName } from './nearest-name.ts';

const names = ['type', 'hash', 'source', 'callback_url', 'timestamp_sec'];

describe('nearestName', () => {
  it.each([
    ['callbackUrl', 'callback_url'],
    ['CALLBACK-URL', 'callback_url'],
    ['sorce', 'source'],
    ['timestamp_secs', 'timestamp_sec'],
    ['hahs', null],
    ['typ', 'type'],
    ['encrypt', null],
    ['', null],
    ['x'.repeat(1_000_000), null],
  ])('the name meant by %.20j is %j', (given, meant) => {
    expect(nearestName(given, names)).toBe(meant);
  });
});
