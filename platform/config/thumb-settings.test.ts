import { expect, it } from 'vitest';
import { faultsOfUnsigned, thumbPresetsValue, thumbSourcesValue } from './thumb-settings.ts';

it('C20.18: each malformed preset is a fault of its own', () => {
  expect(thumbPresetsValue.explain?.('card=w:0;hero;small=w:9')).toEqual([
    'expected another w in the preset card: it must be a whole number from 1 to 4096',
    'expected name=option:value,… with a name of 1–32 of a–z, 0–9, "_" and "-"',
  ]);
  expect(thumbPresetsValue.read('card=w:0')).toBeNull();
  expect(thumbPresetsValue.read('card=w:9')).toEqual(new Map([['card', { w: '9' }]]));
});

it.each([
  ['http://localhost:3000', false],
  ['http://media.localhost', false],
  ['http://127.0.0.1:3000', false],
  ['http://[::1]:3000', false],
  ['http://192.168.1.4', false],
  ['http://10.0.0.7', false],
  ['http://[fd00::7]', false],
  ['http://reelwright:3000', false],
  ['http://media.test', false],
  ['http://nas.local', false],
  ['', false],
  ['https://media.example.com', true],
  ['http://203.0.113.7', true],
  ['http://8.8.8.8:3000', true],
  ['http://[2001:db8::1]', true],
  ['http://172.32.0.1', true],
  ['https://test.example', true],
])('C20.20: THUMB_UNSIGNED=on with the base address "%s" is refused: %s', (baseUrl, isRefused) => {
  const faults = faultsOfUnsigned({ thumbUnsigned: 'on', baseUrl }, {});
  expect(faults).toEqual(isRefused ? ['THUMB_UNSIGNED: expected off where BASE_URL is a public address'] : []);
  expect(faultsOfUnsigned({ thumbUnsigned: 'off', baseUrl }, { NODE_ENV: 'production' })).toEqual([]);
});

it.each([
  ['all', ''],
  ['uploads/', 'uploads/'],
  ['a/b/', 'a/b/'],
  ['uploads', null],
  ['/', null],
  ['../', null],
  ['a/../b/', null],
])('C20.21: THUMB_SOURCES=%s shows the keys that begin with "%s"', (text, prefix) => {
  expect(thumbSourcesValue.read(text)).toBe(prefix);
});
