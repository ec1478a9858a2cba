import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

// docs/delivery.md names the test of each row; a test that was renamed or removed leaves no row behind that lies.

const checkout = join(import.meta.dirname, '../..');
const rows = [
  ...readFileSync(join(checkout, 'docs/delivery.md'), 'utf8').matchAll(
    /^\| (.+?) +\| `([^`]+\.test\.ts)`(?:: (.+?))? +\|$/gm,
  ),
];

it('docs/delivery.md has a row for each thing that is decided', () => {
  expect(rows.length).toBeGreaterThan(35);
});

it.each(rows.map(([, what = '', file = '', title = '']) => [what, file, title]))(
  '%s: %s has "%s"',
  (_, file, title) => {
    expect(readFileSync(join(checkout, file), 'utf8')).toContain(title);
  },
);
