import { expect, it } from 'vitest';
import { blocksOfPage } from './pasted-page.ts';

it('the blocks of a page are read in order, with their language and the reason why one is not pasted', () => {
  const page = [
    'Text.',
    '```sh 200',
    'curl one',
    '```',
    '<!-- not pasted: it needs Docker -->',
    '```sh',
    'docker build .',
    '```',
    '```ts sdk',
    'const two = 2;',
    '```',
    '',
  ].join('\n');
  expect(blocksOfPage(page)).toEqual([
    { language: 'sh', info: '200', code: 'curl one\n', notPasted: null },
    { language: 'sh', info: '', code: 'docker build .\n', notPasted: 'it needs Docker' },
    { language: 'ts', info: 'sdk', code: 'const two = 2;\n', notPasted: null },
  ]);
});
