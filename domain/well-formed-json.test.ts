import { expect, it } from 'vitest';
import { wellFormedJson } from './well-formed-json.ts';

it.each<[string, unknown, unknown]>([
  ['a lone high surrogate', ['a\ud83d'], ['a\ufffd']],
  ['a lone low surrogate', '\ude00b', '\ufffdb'],
  ['two high surrogates', '\ud83d\ud83d', '\ufffd\ufffd'],
  ['a surrogate in the name of a field', { '\ud83d': 1 }, { '\ufffd': 1 }],
  ['a surrogate behind a backslash', '\\\ud83d', '\\\ufffd'],
  ['NUL', 'a\0b', 'a\ufffdb'],
])('%s is replaced by U+FFFD', (_, given, expected) => {
  expect(JSON.parse(wellFormedJson(given))).toEqual(expected);
});

it.each([['\u{1f600} é', '\\ud83d as text', '\\u0000 as text', '\n\t\u0001', 12, null]])(
  '%j stays as it is',
  (value) => {
    expect(wellFormedJson(value)).toBe(JSON.stringify(value));
  },
);
