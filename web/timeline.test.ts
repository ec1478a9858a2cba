import { expect, it } from 'vitest';
import { bufferedAhead, clockText, marksOf, timelineOf } from './timeline.js';

/** A video of a hundred seconds with these ranges in its buffer. */
function videoAt(currentTime: number, ranges: readonly (readonly [number, number])[] = []) {
  const edge = (side: 0 | 1) => (index: number) => ranges[index]?.[side] ?? Number.NaN;
  return { currentTime, duration: 100, buffered: { length: ranges.length, start: edge(0), end: edge(1) } };
}

it('the bar and the clock follow playback', () => {
  expect(timelineOf(videoAt(25, [[20, 40]]), null)).toEqual({
    max: '100',
    value: '25',
    played: '25%',
    buffered: '40%',
    now: '0:25',
    total: '1:40',
    spoken: '0:25 of 1:40',
  });
});

it.each([0, 75])('while the viewer drags the bar to second %d, the bar and the clock are there', (scrubTime) => {
  const { value, played, now, buffered, spoken } = timelineOf(videoAt(25, [[20, 40]]), scrubTime);
  expect([value, played, now]).toEqual([String(scrubTime), `${scrubTime}%`, clockText(scrubTime)]);
  // Playback goes on where it was.
  expect([buffered, spoken]).toEqual(['40%', '0:25 of 1:40']);
});

it('a stream whose length is not known yet has an empty bar', () => {
  const { max, played, buffered, total } = timelineOf({ ...videoAt(0), duration: Number.NaN }, null);
  expect([max, played, buffered, total]).toEqual(['0', '0%', '0%', '0:00']);
});

it('what is buffered ahead is of the range around the position alone', () => {
  const ranges = [
    [0, 10],
    [20, 40],
  ] as const;
  expect([5, 15, 19.95, 40, 41].map((time) => bufferedAhead(videoAt(time, ranges)))).toEqual([
    5,
    0,
    expect.closeTo(20.05),
    0,
    0,
  ]);
});

it('times have hours where there are any', () => {
  const times = { '0:00': -1, '0:09': 9.9, '1:00': 60, '59:59': 3599, '1:00:00': 3600, '10:01:05': 36_065 };
  expect(Object.values(times).map(clockText)).toEqual(Object.keys(times));
  expect(clockText(Number.NaN)).toBe('0:00');
});

it('chapters are marked where they begin, but at the ends of the bar', () => {
  const chapters = [{ from: 0 }, { from: 25 }, { from: 50 }, { from: 100 }, { from: 120 }];
  expect(marksOf({ duration: 100 }, chapters)).toEqual(['25%', '50%']);
  expect(marksOf({ duration: Number.NaN }, chapters)).toEqual([]);
});
