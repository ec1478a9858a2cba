import { describe, expect, it } from 'vitest';
import { boundedLog, boundedText, fitLog, fitText } from './text.ts';

describe('text from outside', () => {
  it.each([
    ['a text that fits is kept', 'Opening', 7, 'Opening'],
    ['a longer one is cut', 'Opening', 4, 'Open'],
    ['an emoji is not cut in half', `${'a'.repeat(9)}😀`, 10, 'a'.repeat(9)],
    ['an emoji that fits is kept', `${'a'.repeat(8)}😀`, 10, `${'a'.repeat(8)}😀`],
    ['half an emoji is replaced', 'a\uD83Db', 10, 'a\uFFFDb'],
    ['half an emoji at the end of a text that fits is replaced', 'ab\uD83D', 3, 'ab\uFFFD'],
    ['half an emoji at the end of what is looked at is replaced', '\0\0\0\uD83D', 1, '\uFFFD'],
    ['half an emoji costs nothing that follows it', `\uD83D${'\0'.repeat(38)}bcd`, 10, '\uFFFD b'],
    ['control characters and line breaks become a space', 'a\r\n\u0000b\u2028c', 10, 'a b c'],
    ['spaces around it are left out, also where it is cut', '  a b', 2, 'a'],
    ['nothing is left of control characters alone', '\u0000\u001b', 10, ''],
  ])('%s', (_, text, max, expected) => {
    expect(fitText(text, max)).toBe(expected);
    expect(boundedText(max).parse(text)).toBe(expected);
  });

  it.each([
    ['the end of a log is kept, with its lines', 'one\ntwo\tthree', 9, 'two\tthree'],
    ['an emoji is not cut in half', '😀abc', 4, 'abc'],
    ['half an emoji is replaced', 'a\uDE00b', 10, 'a\uFFFDb'],
    ['control characters become a space', 'a\u001b[0mb\r\n', 20, 'a [0mb \n'],
    ['several control characters become one space', 'a\u0000\u0001\u0002b', 20, 'a b'],
  ])('%s', (_, text, max, expected) => {
    expect(fitLog(text, max)).toBe(expected);
    expect(boundedLog(max).parse(text)).toBe(expected);
  });

  it('a text of many megabytes is cut in a moment', () => {
    const startedAt = performance.now();
    fitText('\u0000'.repeat(16_000_000), 200);
    expect(performance.now() - startedAt).toBeLessThan(200);
  });
});
