import { describe, expect, it } from 'vitest';
import { redact } from './redact.ts';

describe('redacting', () => {
  it.each([
    ['key 0123456789abcdef0123456789ABCDEF!', 'key ***!'],
    ['key=0x0123456789abcdef0123456789abcdef', 'key=0x***'],
    ['short 0123456789abcdef', 'short 0123456789abcdef'],
    ['uuid 0190a6d2-7c1e-7b1a-9a53-0c0ffee00000', 'uuid 0190a6d2-7c1e-7b1a-9a53-0c0ffee00000'],
    ['postgres://me:pw@host:5432/db', 'postgres://***@host:5432/db'],
    ['http://user:p@ss@host/', 'http://***@host/'],
    ['https://host/a/b?X-Amz-Signature=00ff&b=2 and more', 'https://host/a/b?*** and more'],
    ['http://proxy/http://user:pw@host/a', 'http://proxy/http://***@host/a'],
    ['"http://a:b@c?d","http://a:b@c?d"', '"http://***@c?***","http://***@c?***"'],
    ['Authorization: Bearer eyJhIjox.abc-_~+/=', 'Authorization: Bearer ***'],
    ['Authorization: bearer   abc, and more', 'Authorization: bearer ***, and more'],
    ['http://a/b:c@d', 'http://a/b:c@d'],
    ['ws://u:p@a b://v:q@c?x', 'ws://***@a b://***@c?***'],
    ['?a=1 at http://host?a?b', '?a=1 at http://host?***'],
    ['mail me@example.org', 'mail me@example.org'],
  ])('redacting turns %j into %j', (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it('redacting is quick about long hostile text', () => {
    const start = performance.now();
    for (const piece of ['http://', 'a', 'a:', '0', 'bearer ', 'x://y@', 'x://y?']) redact(piece.repeat(50_000));
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
