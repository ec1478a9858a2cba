import { describe, expect, it } from 'vitest';
import { metadataSchema, searchQuery, searchWords, titleSchema } from './description.ts';

describe('a title', () => {
  it.each([
    ['Holiday in Lisbon', true],
    ['北京 🎬 C++ 100%', true],
    ['🎬'.repeat(256), true],
    ['🎬'.repeat(257), false],
    ['a'.repeat(257), false],
    ['', false],
    ['   ', false],
    ['two\nlines', false],
    ['half a \ud83d character', false],
  ])('%j is accepted: %s', (title, isAccepted) => {
    expect(titleSchema.safeParse(title).success).toBe(isAccepted);
  });
});

describe('metadata', () => {
  it.each([
    ['two strings', { customer: '42', 'place.name': 'São Paulo' }, true],
    ['20 strings', strings(20, ''), true],
    ['21 strings', strings(21, ''), false],
    ['4096 bytes', { key: 'é'.repeat(2046), a: '' }, true],
    ['4098 bytes', { key: 'é'.repeat(2047), a: '' }, false],
    ['a number', { customer: 42 }, false],
    ['a name with a space', { 'a name': '' }, false],
    ['a name with a line first', { _name: '' }, false],
    ['a control character', { a: 'b\u0000' }, false],
  ])('%s: accepted %s', (_, metadata, isAccepted) => {
    expect(metadataSchema.safeParse(metadata).success).toBe(isAccepted);
  });
});

describe('a search', () => {
  it.each([
    ["Zoë's Holiday: Müller/Straße, 2026!", ['zoe', 's', 'holiday', 'muller', 'straße', '2026']],
    ['movie.mp4 movie', ['movie', 'mp4']],
    ['東京 İzmir', ['東京', 'izmir']],
    ["' & | ! :* \\", []],
  ])('%j has the words %j', (text, words) => {
    expect(searchWords(text)).toEqual(words);
  });

  it.each([
    ['Holi lis', `'holi':* & 'lis':*`],
    ['a to 4k', `'a' & 'to' & '4k'`],
    ['東', `'東':*`],
    ["'); drop --", `'drop':*`],
    ['…', null],
  ])('%j asks for %s', (text, query) => {
    expect(searchQuery(text)).toBe(query);
  });
});

function strings(count: number, value: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, value]));
}
