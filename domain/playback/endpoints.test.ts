import { expect, it } from 'vitest';
import { clearKeyAddress, keyEndpoint } from './endpoints.ts';

it('C14.4: the address of a content key has its media hash escaped, and the licence lies below it', () => {
  expect(keyEndpoint('https://m.example', 'a~b:c/d')).toBe('https://m.example/api/key/a~b%3Ac%2Fd');
  expect(clearKeyAddress(keyEndpoint('https://m.example', 'h'))).toBe('https://m.example/api/key/h/clearkey');
});
