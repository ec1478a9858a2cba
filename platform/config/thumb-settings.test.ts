import { expect, it } from 'vitest';
import { thumbPresetsValue } from './thumb-settings.ts';

it('C20.18: each malformed preset is a fault of its own', () => {
  expect(thumbPresetsValue.explain?.('card=w:0;hero;small=w:9')).toEqual([
    'expected another w in the preset card: it must be a whole number from 1 to 4096',
    'expected name=option:value,… with a name of 1–32 of a–z, 0–9, "_" and "-"',
  ]);
  expect(thumbPresetsValue.read('card=w:0')).toBeNull();
  expect(thumbPresetsValue.read('card=w:9')).toEqual(new Map([['card', { w: '9' }]]));
});
