import { describe, expect, it } from 'vitest';
import { judge, readExpectations, renderTable, unmeasured } from './expectations.ts';
import { type BenchLine, interleave, median } from './harness.ts';

function lineOf(id: string, value: number): BenchLine {
  return { id, what: 'requests a second', value, unit: 'ratio', ours: '150/s', peer: '100/s' };
}

describe('interleave', () => {
  it('every other round runs backwards and the figures of each contender keep their order', async () => {
    const order: string[] = [];
    const contender = (name: string) => () => Promise.resolve(order.push(name));
    const figures = await interleave({ rounds: 3, contenders: { a: contender('a'), b: contender('b') } });
    expect(order.join('')).toBe('abbaab');
    expect(figures).toEqual({ a: [1, 4, 5], b: [2, 3, 6] });
  });

  it('two contenders never run at once', async () => {
    let running = 0;
    const contender = async () => {
      expect(++running).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 2));
      return --running;
    };
    await interleave({ rounds: 2, contenders: { a: contender, b: contender, c: contender } });
  });

  it('the first contender that fails ends the rounds', async () => {
    const contenders = { a: () => Promise.resolve(1), b: () => Promise.reject(new Error('no server')) };
    await expect(interleave({ rounds: 2, contenders })).rejects.toThrow('no server');
  });
});

describe('median', () => {
  it.each([
    [[3], 3],
    [[9, 1, 5], 5],
    [[4, 1, 3, 2], 2.5],
    [[10, 9, 100], 10],
  ])('the median of %j is %d', (figures, expected) => {
    expect(median(figures)).toBe(expected);
  });

  it('the median of no figures is an error', () => {
    expect(() => median([])).toThrow(RangeError);
  });
});

describe('judge', () => {
  it.each([
    [{ min: 1.5 }, 1.5, 'met'],
    [{ min: 1.5 }, 1.49, 'missed'],
    [{ max: 3 }, 3, 'met'],
    [{ max: 3 }, 3.01, 'missed'],
    [{ min: 1, max: 2 }, 2.5, 'missed'],
    [{ min: 1, max: 2 }, 1.5, 'met'],
    [{ max: 3 }, Number.NaN, 'missed'],
    [{ min: 0 }, Number.NaN, 'missed'],
  ])('with the expectation %j the value %d is %s', (expected, value, verdict) => {
    expect(judge([lineOf('stream.hot', value)], { 'stream.hot': expected })).toMatchObject([{ verdict }]);
  });

  it('a line without an expectation is printed for information', () => {
    const expected = { 'stream.cold': { min: 1 } };
    expect(judge([lineOf('stream.hot', 1)], expected)).toMatchObject([{ verdict: 'for information' }]);
  });
});

describe('unmeasured', () => {
  it('expected lines of a suite that ran are named when they are missing', () => {
    const expectations = { 'stream.hot': { min: 1 }, 'stream.cold': { min: 1 }, 'thumb.hits': { min: 1 } };
    expect(unmeasured(['stream'], [lineOf('stream.hot', 1)], expectations)).toEqual(['stream.cold']);
  });
});

describe('readExpectations', () => {
  it('expectations are read by the ids of lines', () => {
    expect(readExpectations('# why\nstream.hot: {min: 1.5}\nkubernetes.calls: {max: 4}\n')).toEqual({
      'stream.hot': { min: 1.5 },
      'kubernetes.calls': { max: 4 },
    });
    expect(readExpectations('# nothing yet\n')).toEqual({});
  });

  it.each(['stream.hot: {minimum: 1}', 'stream.hot: {}', 'stream.hot: {min: 2, max: 1}', 'hot: {min: 1}', 'a.b: 3'])(
    'the expectation %j is refused',
    (text) => {
      expect(() => readExpectations(text)).toThrow(/./);
    },
  );
});

describe('the table', () => {
  it('the table has a row for each line with both figures, the expectation and the verdict', () => {
    const table = renderTable(judge([lineOf('stream.hot', 1.234), lineOf('x.y', 250)], { 'stream.hot': { min: 1.5 } }));
    const [, first = '', second = ''] = table.split('\n');
    expect(first.split(/ {2,}/)).toEqual([
      'stream.hot',
      'requests a second',
      '150/s',
      '100/s',
      '1.23',
      '≥ 1.5',
      'missed',
    ]);
    expect(second.split(/ {2,}/).slice(4)).toEqual(['250', '–', 'for information']);
  });
});
