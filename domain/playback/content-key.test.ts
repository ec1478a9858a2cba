import { createCipheriv, hkdfSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { unwrapContentKey, wrapContentKey } from './content-key.ts';

const key = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const owner = { hash: 'video-1', kid: 'f'.repeat(32) };
const nonce = Buffer.alloc(12, 7);
const envelope = wrapContentKey(key, owner, ['first secret'], nonce);

describe('a wrapped content key', () => {
  it('C18.5: a wrapped content key opens with the secret that wrapped it, also once that is no longer the first', () => {
    expect(unwrapContentKey(envelope, owner, ['first secret'])).toEqual(key);
    expect(unwrapContentKey(envelope, owner, ['newer secret', 'first secret'])).toEqual(key);
  });

  // Envelopes are in databases: with another derivation, name or text of associated data no stored key would open.
  it('C18.3: a wrapped content key has the documented form for ever, so that every stored key opens', () => {
    expect(envelope).toEqual({
      v: 1,
      kek_id: 'fa693028265b',
      nonce: 'BwcHBwcHBwcHBwcH',
      ciphertext: 'YSEPzBz8EApOmkDwfWncMoNJTkXKUO2t3XZEO3LkZsY=',
    });
  });

  it('a content key of another length than 16 bytes is refused, though its envelope holds', () => {
    const long = wrapContentKey(Buffer.alloc(17), owner, ['first secret'], nonce);
    expect(() => unwrapContentKey(long, owner, ['first secret'])).toThrow('a content key is 16 bytes');
  });

  it('an envelope of another secret names the id of the secret that is missing', () => {
    expect(() => unwrapContentKey(envelope, owner, ['another'])).toThrow('no ENCRYPTION_KEY has the id fa693028265b');
  });

  // AES-GCM accepts shorter tags, of which one is forged sooner.
  it('an envelope whose tag is shorter than 16 bytes does not open', () => {
    const secretKey = Buffer.from(hkdfSync('sha256', 'first secret', '', 'content-key-encryption/v1', 32));
    const cipher = createCipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: 12 });
    cipher.setAAD(Buffer.from(JSON.stringify(['content-key', 1, owner.hash, owner.kid])));
    const short = Buffer.concat([cipher.update(Buffer.alloc(0)), cipher.final(), cipher.getAuthTag()]);
    expect(short).toHaveLength(12);
    const stored = { ...envelope, ciphertext: short.toString('base64') };
    expect(() => unwrapContentKey(stored, owner, ['first secret'])).toThrow('tag');
  });

  it('a wrapped content key holds neither the key nor the secret', () => {
    const text = JSON.stringify(envelope);
    for (const part of [key.toString('hex'), key.toString('base64'), 'first secret']) expect(text).not.toContain(part);
  });

  it.each([
    ['another secret', envelope, owner, ['another']],
    ['no secret', envelope, owner, []],
    ['another hash', envelope, { ...owner, hash: 'video-2' }, ['first secret']],
    ['another KID', envelope, { ...owner, kid: '0'.repeat(32) }, ['first secret']],
    ['another nonce', { ...envelope, nonce: Buffer.alloc(12, 8).toString('base64') }, owner, ['first secret']],
    ['another version', { ...envelope, v: 2 }, owner, ['first secret']],
    ['a ciphertext cut short', { ...envelope, ciphertext: envelope.ciphertext.slice(0, 20) }, owner, ['first secret']],
    ['an empty ciphertext', { ...envelope, ciphertext: '' }, owner, ['first secret']],
    ['a flipped bit', { ...envelope, ciphertext: flipped(envelope.ciphertext) }, owner, ['first secret']],
    ['no envelope', null, owner, ['first secret']],
  ])('C18.3: a wrapped content key does not open with %s', (_, stored, ofOwner, secrets) => {
    expect(() => unwrapContentKey(stored, ofOwner, secrets)).toThrow();
  });
});

function flipped(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes[3] = (bytes[3] ?? 0) ^ 1;
  return bytes.toString('base64');
}
