import { expect, it } from 'vitest';
import { isPartSignature, partSecretsOf, signPartPath } from './part-address.ts';

const part = { id: '0b6f1c52-7d0e-4c7a-9d2b-3f5a1e8c6d40', number: 7, exp: 1_800_000_000 };
const [secret = Buffer.alloc(0), older = Buffer.alloc(0)] = partSecretsOf(['a key of this test', 'an older key']);
const sigOf = (by: Buffer) => new URL(signPartPath(part, by), 'http://x').searchParams.get('sig') ?? '';

it('the address of a part holds for that part and that time alone', () => {
  const sig = sigOf(secret);
  expect(isPartSignature(part, sig, [secret])).toBe(true);
  for (const other of [{ number: 8 }, { exp: part.exp + 1 }, { id: '1b6f1c52-7d0e-4c7a-9d2b-3f5a1e8c6d40' }])
    expect(isPartSignature({ ...part, ...other }, sig, [secret])).toBe(false);
  for (const wrong of ['', 'x', `${sig}A`, sig.slice(0, -2)])
    expect(isPartSignature(part, wrong, [secret])).toBe(false);
});

it('addresses of each API key are accepted, and none of another', () => {
  expect(isPartSignature(part, sigOf(older), [secret, older])).toBe(true);
  expect(isPartSignature(part, sigOf(older), [secret])).toBe(false);
  expect(isPartSignature(part, sigOf(secret), [])).toBe(false);
});
