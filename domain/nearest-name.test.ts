import { describe, expect, it } from 'vitest';
import { editDistance, nearestName } from './nearest-name.ts';

const names = ['type', 'hash', 'source', 'callback_url', 'timestamp_sec'];

describe('nearestName', () => {
  it.each([
    ['callbackUrl', 'callback_url'],
    ['CALLBACK-URL', 'callback_url'],
    ['sorce', 'source'],
    ['timestamp_secs', 'timestamp_sec'],
    ['hahs', 'hash'],
    ['hshs', null],
    ['typ', 'type'],
    ['encrypt', null],
    ['', null],
    ['x'.repeat(1_000_000), null],
  ])('the name meant by %.20j is %j', (given, meant) => {
    expect(nearestName(given, names)).toBe(meant);
  });

  it('of two names that are near, the nearest is meant', () => {
    expect(nearestName('timestamp', ['timestamps12', 'time_stamp', 'timestamps'])).toBe('time_stamp');
    expect(nearestName('callback_urls', ['callback_uris', 'callback_url'])).toBe('callback_uris');
    expect(nearestName('timestampx', ['timestam_y', 'timestamp'])).toBe('timestamp');
  });
});

describe('editDistance', () => {
  it.each([
    ['kitten', 'sitten', 1],
    ['kitten', 'sitting', 3],
    ['abc', 'abc', 0],
    ['', '', 0],
    ['', 'ab', 2],
    ['ab', '', 2],
    ['abcd', 'badc', 2],
    ['abc', 'cba', 2],
    ['abc', 'abcdef', Infinity],
  ])('from %j to %j it is %s characters', (from, to, edits) => {
    expect(editDistance(from, to)).toBe(edits);
  });
});
