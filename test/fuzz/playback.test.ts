import { array, constantFrom, integer, oneof, tuple } from 'fast-check';
import { expect } from 'vitest';
import { cmcdLengthMax, playbackObjects, readCmcd } from '#domain/playback/cmcd.ts';
import { fuzz } from '../../testing/fuzz.ts';
import { anyText } from '../../testing/hostile-values.ts';

// What anybody can send as the state of a player.

const key = oneof(constantFrom('bl', 'br', 'bs', 'mtp', 'ot', 'sid', 'su', 'msd', 'nor', 'com.example-x'), anyText);
const value = oneof(
  integer().map(String),
  constantFrom('v', '?1', '"a b"', '"\\""', '(1 2;a)', '("a" "b")', '9'.repeat(20), ''),
  anyText,
);
const dictionary = array(tuple(key, value)).map((pairs) => pairs.map(([name, text]) => `${name}=${text}`).join());
const worst = ['x="', 'k;', ';a', ';"', '(', '\\"', 'a,', ' ,'].map((text) => text.repeat(cmcdLengthMax / text.length));

fuzz(
  'the state of a player is read within its bounds, or nothing is',
  { of: oneof(dictionary, anyText), examples: worst },
  (text) => {
    for (const state of [
      readCmcd('/stream/a/b.m4s', { 'cmcd-object': text, 'cmcd-status': text }),
      readCmcd(`/stream/a/b.m4s?${text}`, {}),
      readCmcd(`/stream/a/b.m4s?CMCD=${encodeURIComponent(text.toWellFormed())}`, {}),
    ]) {
      if (state === null) continue;
      expect(playbackObjects).toContain(state.object);
      expect(state.sessionId?.length ?? 0).toBeLessThanOrEqual(64);
      const numbers = [state.bufferMs, state.throughputKbps, state.bitrateKbps, state.startDelayMs];
      for (const number of numbers)
        expect(number === null || (Number.isInteger(number) && number >= 0 && number <= 1e7)).toBe(true);
    }
  },
);
