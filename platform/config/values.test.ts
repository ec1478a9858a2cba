import { describe, expect, it } from 'vitest';
import {
  booleanValue,
  cidrsValue,
  durationsValue,
  httpUrlValue,
  integerValue,
  positiveDurationValue,
  sizeValue,
  type TextValue,
  wordValue,
} from './values.ts';

const GiB = 1024 ** 3;

type Case = readonly [value: TextValue<unknown>, text: string, expected: unknown];
const understood: Record<string, Case[]> = {
  sizes: [
    [sizeValue, '0', 0],
    [sizeValue, '1048576', 1_048_576],
    [sizeValue, '500MiB', 500 * 1024 * 1024],
    [sizeValue, ' 20GiB ', 20 * GiB],
    [sizeValue, '8TiB', 8 * 1024 * GiB],
  ],
  durations: [
    [positiveDurationValue, '250ms', 250],
    [positiveDurationValue, '1.5s', 1500],
    [positiveDurationValue, '3m', 180_000],
    [positiveDurationValue, '6h', 21_600_000],
    [positiveDurationValue, '7d', 604_800_000],
    [durationsValue(3), '0s, 5s,3m', [0, 5000, 180_000]],
  ],
  'words and numbers': [
    [integerValue(0, 65_535), '0', 0],
    [integerValue(0, 65_535), '65535', 65_535],
    [booleanValue, 'true', true],
    [booleanValue, 'false', false],
    [wordValue(['a', 'b']), 'b', 'b'],
  ],
  addresses: [
    [httpUrlValue, 'http://127.0.0.1:9000', 'http://127.0.0.1:9000'],
    [cidrsValue, '10.0.0.0/8, fd00::/8', ['10.0.0.0/8', 'fd00::/8']],
    [cidrsValue, '127.0.0.1,::1', ['127.0.0.1/32', '::1/128']],
  ],
};

const refused: Record<string, readonly (readonly [value: TextValue<unknown>, text: string])[]> = {
  sizes: ['', '-1', '1.5GiB', '5MB', '5 MiB', 'lots', '1e9', '99999999TiB', '0x10'].map((text) => [sizeValue, text]),
  durations: ['', '5', '-5s', '5 s', 's', '0s', '1w'].map((text) => [positiveDurationValue, text]),
  'lists of durations': ['', '1s,,2s', '1s;2s', '1s,x', '1s,1s,1s,1s'].map((text) => [durationsValue(3), text]),
  numbers: ['', '-1', '65536', '1.5', '1e3', ' ', 'NaN', '0x1f'].map((text) => [integerValue(0, 65_535), text]),
  words: ['', 'yes', 'TRUE', '1'].map((text) => [booleanValue, text]),
  addresses: ['host', '//host', 'ftp://host', 'http://', 'http://u:p@host'].map((text) => [httpUrlValue, text]),
  networks: [
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    'fd00::/129',
    '10.0.0.0/8/8',
    'localhost',
    '10.0.0.0/-1',
    'fe80::1%eth0',
    '1.2.3.4,',
  ].map((text) => [cidrsValue, text]),
};

describe.each(Object.entries(understood))('%s', (_name, cases) => {
  it.each(cases)('case %#: the text is read', (value, text, expected) => {
    expect(value.read(text.trim())).toEqual(expected);
  });
});

describe.each(Object.entries(refused))('%s', (_name, cases) => {
  it.each(cases)('case %#: text that does not fit is refused, and the fault does not repeat it', (value, text) => {
    expect(value.read(text.trim())).toBeNull();
    if (text.trim().length > 4) expect(value.expected).not.toContain(text);
  });
});
