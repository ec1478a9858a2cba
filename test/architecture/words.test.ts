import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTexts } from './texts.ts';
import { bannedIn, bannedWords } from './words.ts';

const wordsIn = (text: string, path = 'a.ts') =>
  bannedIn({ path, text }).map((found) => found.replace(/^.*?:\d+: (.+) \(instead: .*\)$/, '$1'));

it.each([
  ['a comment', '// nobody looks', ['nobody']],
  ['a title', "it('the worker tells the state', …)", ['tells']],
  ['a name in camelCase', 'class PoolTroubles {}', ['Troubles']],
  ['a name with underscores', 'is_gone', ['gone']],
  ['two words', '# The waiting room of a pool', ['waiting room']],
  ['a part of another word', 'teller, bygone, intelligent', []],
  ['the status 410', 'answers 410 Gone', []],
  ['an ordinary "there is none"', 'null when there is none', []],
  ['a retired word in a name', 'const soundOf = filmOf(pictures)', ['sound', 'film', 'pictures']],
  ['terms of formats', 'surround sound, an attached picture, picture in picture', []],
  ['a chain', 'the rate is that of the source', ['that of']],
  ['a bound', 'a rung that is over 20 % larger', []],
])('banned words are found in %s', (_, text, words) => {
  expect(wordsIn(text)).toEqual(words);
});

it('every banned word has a word to write instead', () => {
  for (const [word, instead] of Object.entries(bannedWords)) {
    expect(wordsIn(`a ${word} b`)).toEqual([word]);
    expect(wordsIn(instead)).toEqual([]);
  }
});

it('applied migrations are exempt, since they cannot change', () => {
  expect(wordsIn('-- nobody', 'platform/postgres/migrations/0001-jobs.sql')).toEqual([]);
});

it('no text of the repository has a banned word', () => {
  const texts = readTexts(join(import.meta.dirname, '../..'));
  expect(texts.flatMap((text) => bannedIn(text))).toEqual([]);
});
