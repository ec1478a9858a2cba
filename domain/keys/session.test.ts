import { describe, expect, it } from 'vitest';
import { isNamedKey } from './api-key.ts';
import { isSessionSecret, rightsOfSession, sessionSecretOf } from './session.ts';

describe('sessions', () => {
  it('have a secret of 256 random bits, whose form no key has', () => {
    const secret = sessionSecretOf((bytes) => Buffer.alloc(bytes, 0xfb));
    expect(secret).toBe(`rws_${Buffer.alloc(32, 0xfb).toString('base64url')}`);
    expect([isSessionSecret(secret), isNamedKey(secret)]).toEqual([true, false]);
    for (const other of [secret.slice(1), secret.slice(0, -1), `${secret}x`, `${secret}\n`, '', 'rws_'])
      expect(isSessionSecret(other), JSON.stringify(other)).toBe(false);
  });

  it('have no right that their key has not', () => {
    expect(rightsOfSession(['read', 'submit'], null)).toEqual(['read', 'submit']);
    expect(rightsOfSession(['read', 'submit'], ['read'])).toEqual(['read']);
    expect(rightsOfSession(['read'], ['read', 'admin', 'submit'])).toEqual(['read']);
    expect(rightsOfSession(['admin'], ['delete'])).toEqual(['delete']);
  });
});
