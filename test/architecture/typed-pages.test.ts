import { readFileSync, globSync } from 'node:fs';
import { expect, it } from 'vitest';

// The scripts of the player page are checked by `tsc -p web`, which a comment or `any` could avoid.

it.each(globSync('web/*.js'))('%s is typed without `any` and without an exception', (file) => {
  const text = readFileSync(file, 'utf8');
  expect(text.match(/@ts-\w+|\{[^{}]*\b(?:any|Function|Object)\b[^{}]*\}|\{\*\}/g)).toBeNull();
});
