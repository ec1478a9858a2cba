import { expect, it } from 'vitest';
import { readAbsoluteForm } from './request-target.ts';

it.each([
  ['http://media.test/stream/h/master.m3u8', 'media.test', '/stream/h/master.m3u8'],
  ['HTTPS://media.test:8443/a?b=http://c/d', 'media.test:8443', '/a?b=http://c/d'],
  ['http://media.test', 'media.test', '/'],
  ['http://user:secret@[::1]:80/a@b', '[::1]:80', '/a@b'],
  ['/http://media.test/a', 'sent.test', '/http://media.test/a'],
  ['/a', 'sent.test', '/a'],
  ['//media.test/a', 'sent.test', '//media.test/a'],
  ['http:///a', 'sent.test', 'http:///a'],
  ['*', 'sent.test', '*'],
])('the target %s is of the host %s and the path %s', (url, host, path) => {
  const request = { url, headers: { host: 'sent.test' } };
  readAbsoluteForm(request);
  expect([request.headers.host, request.url]).toEqual([host, path]);
});
