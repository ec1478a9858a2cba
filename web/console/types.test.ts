import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

// `tsc -p web/console` checks the types; here is what would keep it from doing so.

const isLoose = (line: string) => /@ts-|oxlint-disable|@\w+ \{(?:.*[<|:,( ])?any\b[^{]*\}/.test(line);

it('the script of the console has no type `any` and no fault of a type that is passed over', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /\.[jt]s$/.test(name) && !name.endsWith('.test.ts'));
  const found = files.flatMap((name) =>
    readFileSync(join(import.meta.dirname, name), 'utf8')
      .split('\n')
      .filter(isLoose),
  );
  expect(files.length).toBeGreaterThan(20);
  expect(found).toEqual([]);
});
