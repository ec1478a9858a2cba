import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signPlaybackToken, verifyPlaybackToken } from './token.ts';

const secret = 'a secret of this test';
const at = { hash: 'video-1', nowSec: 1_700_000_000 };
const token = signPlaybackToken({ hash: 'video-1', exp: 1_700_000_060 }, secret);
const [payload = '', signature = ''] = token.split('.');

/** A token with any payload text, signed as an application with the secret would. */
function signed(text: string, key = secret): string {
  const payloadB64 = Buffer.from(text).toString('base64url');
  return `${payloadB64}.${createHmac('sha256', key).update(payloadB64).digest('base64url')}`;
}

describe('verifyPlaybackToken', () => {
  it('C19.5: a token that another program made by the documented rules is accepted', () => {
    expect(verifyPlaybackToken(signed('{"exp":1700000000,"hash":"video-1"}'), secret, at)).toBe('valid');
    expect(verifyPlaybackToken(token, secret, at)).toBe('valid');
  });

  it('C19.5: signPlaybackToken makes the bytes that the test vector names', () => {
    expect(signPlaybackToken({ hash: 'abc', exp: 1 }, 'key')).toBe(signed('{"hash":"abc","exp":1}', 'key'));
    expect(payload).toBe('eyJoYXNoIjoidmlkZW8tMSIsImV4cCI6MTcwMDAwMDA2MH0');
  });

  it.each([
    ['another secret', signed('{"hash":"video-1","exp":1700000060}', 'another')],
    ['no signature', payload],
    ['an empty signature', `${payload}.`],
    ['nothing', ''],
    ['a third part', `${token}.x`],
    ['a signature cut short', token.slice(0, -1)],
    ['a signature with padding', `${token}=`],
    ['a signature in plain base64', `${payload}.${Buffer.from(signature, 'base64url').toString('base64')}`],
    ['a signature over the raw JSON', `${payload}.${hmacOf('{"hash":"video-1","exp":1700000060}')}`],
    ['a later exp under the old signature', `${encode({ hash: 'video-1', exp: 9_999_999_999 })}.${signature}`],
    ['another hash under the old signature', `${encode({ hash: 'video-2', exp: 1_700_000_060 })}.${signature}`],
    ['a stray last bit in the signature', `${payload}.${lastCharacterVaried(signature)}`],
  ])('verifyPlaybackToken refuses %s', (_, forged) => {
    expect(verifyPlaybackToken(forged, secret, at)).toBe('invalid_signature');
  });

  it('C19.8: verifyPlaybackToken reads no payload before the signature holds', () => {
    expect(verifyPlaybackToken(signed('not json'), secret, at)).toBe('malformed');
    expect(verifyPlaybackToken(signed('not json', 'another'), secret, at)).toBe('invalid_signature');
  });

  it.each([
    '',
    'null',
    '{}',
    '{"hash":"video-1"}',
    '{"hash":"video-1","exp":"1700000060"}',
    '{"hash":"video-1","exp":1700000060.5}',
    '{"hash":"video-1","exp":null}',
    '{"hash":"video-1","exp":1e999}',
    'not json',
  ])('verifyPlaybackToken refuses the signed payload %s', (text) => {
    expect(verifyPlaybackToken(signed(text), secret, at)).toBe('malformed');
  });

  it('verifyPlaybackToken refuses a token whose exp is in the past, and takes one in its last second', () => {
    expect(verifyPlaybackToken(signed('{"hash":"video-1","exp":1699999999}'), secret, at)).toBe('expired');
    expect(verifyPlaybackToken(signed('{"hash":"video-1","exp":1700000000}'), secret, at)).toBe('valid');
  });

  it.each(['video-2', 'VIDEO-1', 'video-1 ', ''])('verifyPlaybackToken refuses a token for %j', (hash) => {
    expect(verifyPlaybackToken(signPlaybackToken({ hash, exp: 1_700_000_060 }, secret), secret, at)).toBe(
      'hash_mismatch',
    );
  });
});

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function hmacOf(text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

/** 32 bytes end in a character of which two bits mean nothing: another spelling of the same bytes. */
function lastCharacterVaried(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.at(-1) ?? '') ^ 1];
}
