import { expect, it } from 'vitest';
import { isListedHost, readHost } from './hosts.ts';

it.each([
  ['media.example.com', 'media.example.com'],
  ['Media.Example.COM:8443', 'media.example.com:8443'],
  ['*.cdn.example.com', '*.cdn.example.com'],
  ['10.0.0.1:80', '10.0.0.1:80'],
  ['[fd00::1]', '[fd00::1]'],
  ['*', null],
  ['a.example:', null],
  ['a.example:123456', null],
  ['[xyz]', null],
  ['', null],
  ['a.*.com', null],
  ['https://a.com', null],
  ['a.com/b', null],
  ['a.com:0', null],
  ['a.com:65536', null],
  ['user@a.com', null],
])('the entry %s of IMPORT_HOSTS is read as %s', (text, read) => expect(readHost(text)).toBe(read));

it.each([
  ['https://media.example.com/a.mp4', true],
  ['http://media.example.com/a.mp4', true],
  ['https://MEDIA.example.com:443/', true],
  ['https://media.example.com./', true],
  ['https://media.example.com../', false],
  ['http://media.example.com:443/', false],
  ['https://other.example:444/', false],
  ['http://only.example/', false],
  ['https://only.example/', true],
  ['https://media.example.com:8443/', false],
  ['https://example.com/', false],
  ['https://media.example.com.evil.example/', false],
  ['https://a.b.cdn.example.com/', true],
  ['https://cdn.example.com/', false],
  ['https://evilcdn.example.com/', false],
  ['http://127.0.0.1:9000/', true],
  ['http://2130706433:9000/', true],
  ['http://127.0.0.1/', false],
  ['https://[fd00::1]:444/', true],
])('a file of %s may be imported: %s', (url, isListed) => {
  const hosts = [
    'media.example.com',
    '*.cdn.example.com',
    '127.0.0.1:9000',
    '[fd00::1]:444',
    'only.example:443',
    'plain.example:80',
  ];
  expect(isListedHost(new URL(url), hosts)).toBe(isListed);
});
