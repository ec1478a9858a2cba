import { describe, expect, it } from 'vitest';
import { isKnownToBeAllowed } from './callback-address.ts';

describe('isKnownToBeAllowed', () => {
  it.each([
    ['https://example.com/', [], true],
    ['https://1.1.1.1/', [], true],
    ['http://127.0.0.1/', [], false],
    ['http://2130706433/', [], false],
    ['http://[::1]/', [], false],
    ['http://[::ffff:10.0.0.1]/', [], false],
    ['http://169.254.169.254/latest/meta-data', [], false],
    ['http://localhost:8080/', [], false],
    ['http://localhost/', ['127.0.0.0/8'], true],
    ['http://10.1.2.3/', ['10.0.0.0/8'], true],
    ['http://10.1.2.3/', ['10.2.0.0/16'], false],
  ])('%s with %j: %s', (url, allowedCidrs, isAllowed) => {
    expect(isKnownToBeAllowed(new URL(url), allowedCidrs)).toBe(isAllowed);
  });
});
