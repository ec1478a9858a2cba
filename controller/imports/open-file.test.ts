import { expect, it, vi } from 'vitest';
import { ImportFailure } from '#domain/imports/import.ts';
import { redirectOf } from './open-file.ts';

// From real servers: test/contract/import-sources.test.ts.

/** Where a redirect of `url` leads, or the code of its failure; and whether its answer was closed. */
function led(url: string, location: string | undefined, statusCode = 302) {
  const close = vi.fn<() => void>();
  const headers = location === undefined ? {} : { location };
  try {
    const target = redirectOf(new URL(url), { statusCode, headers, close });
    return [target?.href ?? null, close.mock.calls.length];
  } catch (error) {
    return [error instanceof ImportFailure ? error.code : error, close.mock.calls.length];
  }
}

it.each([
  ['https://a.example/x', 'http://a.example/x', 'insecure_redirect'],
  ['https://a.example/x', '//b.example/y', 'https://b.example/y'],
  ['https://a.example/x', 'https://b.example/y', 'https://b.example/y'],
  ['http://a.example/x', 'https://a.example/x', 'https://a.example/x'],
  ['http://a.example/x', 'http://b.example/y', 'http://b.example/y'],
  ['http://a.example/x?sig=1', 'y', 'http://a.example/y'],
  ['https://a.example/x', 'ftp://a.example/x', 'bad_answer'],
  ['https://a.example/x', 'https://user@b.example/y', 'bad_answer'],
  ['https://a.example/x', 'https://:secret@b.example/y', 'bad_answer'],
  ['https://a.example/x', 'https://', 'bad_answer'],
  ['https://a.example/x', undefined, 'bad_answer'],
])('C30.19: a redirect of %s to %s leads to %s, and never from https to http', (url, location, expected) => {
  const isFailure = !expected.includes(':');
  for (const status of [301, 302, 303, 307, 308]) expect(led(url, location, status)).toEqual([expected, +isFailure]);
});

it('an answer that is no redirect leads nowhere, whatever its Location', () => {
  for (const status of [200, 201, 206, 300, 304, 404])
    expect(led('https://a.example/x', 'http://b.example/', status)).toEqual([null, 0]);
});
